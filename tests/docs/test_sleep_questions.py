"""The sleep questions of docs/store.md run on a synthetic cohort, and have answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from storage.query import run_query
from tests.flows.inline import run, settings_for

DOCUMENT = Path(__file__).parents[2] / "docs" / "store.md"
BLOCK = re.compile(r"Ten (?:questions|more).*?```sql\n(.*?)```", re.DOTALL)


def questions() -> list[str]:
    blocks = BLOCK.findall(DOCUMENT.read_text())
    return [text.strip() for block in blocks for text in block.split(";") if text.strip()]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    # The second night of the fourth subject has two scorings that differ.
    root = DATASETS["shhs"].write(folder / "shhs", SynthSettings(shhs_subjects=4, shhs_hours=0.5))
    settings = settings_for(folder / "store", 'cohort.columns=["ahi_a0h3a"]', shhs=root)
    run(settings)
    return folder / "store"


def test_there_are_twenty_questions_each_numbered() -> None:
    numbers = [re.match(r"-- (\d+)\.", text) for text in questions()]
    assert [int(match[1]) for match in numbers if match] == list(range(1, 21))


@pytest.mark.parametrize("number", range(1, 21))
def test_a_question_has_an_answer(store: Path, number: int) -> None:
    assert run_query(store, questions()[number - 1]).num_rows > 0


def test_the_heart_is_faster_after_an_event_than_before_its_end(store: Path) -> None:
    answers = run_query(store, questions()[5]).to_pylist()
    rates = {row["after_s"]: row["beats_per_minute"] for row in answers}
    assert rates[0] > rates[-20] + 2
