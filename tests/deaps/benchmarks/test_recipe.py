"""The recipe for a benchmark: one class and one call, and its row is in the report."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from deaps.benchmarks.interface import (
    OTHER_BENCHMARKS,
    Benchmark,
    all_benchmarks,
    register_benchmark,
)
from deaps.config import BenchmarkSettings
from deaps.evaluation.document import DatasetLabels, Evaluation
from deaps.evaluation.examples import (
    Examples,
    Fold,
    NotRunError,
    select_windows,
    subject_folds,
    window_examples,
)
from deaps.evaluation.plan import followed_benchmarks
from deaps.report.page import report_sections
from flows.config import Settings, load_settings
from flows.experiment.state import load_state
from storage.errors import DeapsError
from tests.deaps.benchmarks.overrides import SMALL_EXPERIMENT
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.deaps.report.part_lookup import rows, table
from tests.flows.inline_evaluation import evaluate_inline, one_worker, train_some


class FirstHalf(Benchmark):
    """Whether a window comes from the first half of its recording."""

    name = "first-half"
    title = "First half or second"
    classes = ("first", "second")
    followed = True
    seen_in_training = True  # the encoders of this test are trained on the same people

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        return ("shhs",)

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        return "Windows of the first and of the second half of each recording."

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        columns = select_windows(index, "shhs", "true")
        return window_examples(columns, (columns["row"] >= 2).astype(np.int8)), ()

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        return subject_folds(examples, settings.folds, settings.seed)


class Impossible(FirstHalf):
    """Cannot be run on any data; gender is followed instead."""

    name = "impossible"
    title = "Impossible"
    stand_in = "gender"

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        raise NotRunError("there is nothing to test")


@pytest.fixture
def first_half() -> Iterator[Benchmark]:
    yield register_benchmark(FirstHalf())
    OTHER_BENCHMARKS.remove("first-half")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    root = make_labelled_store(tmp_path_factory.mktemp("recipe"))
    settings = load_settings(overrides=[f"store.root={root}", *SMALL_EXPERIMENT])
    train_some(settings, "byol")
    return settings


@pytest.fixture
def evaluation(settings: Settings, first_half: Benchmark) -> Evaluation:
    with one_worker() as client:
        return evaluate_inline(settings, client)[0]


def test_it_is_run_followed_and_shown_after_the_papers(evaluation: Evaluation) -> None:
    assert evaluation.benchmarks[-1].name == "first-half"
    shown = rows(table(report_sections(evaluation), "table-first-half"))
    assert shown["BYOL"].cells[0].text not in ("", "not run")
    assert shown["random encoder"].cells[0].text not in ("", "not run")
    courses = [e for e in evaluation.evolution if e.benchmark == "first-half"]
    assert {course.steps for course in courses} == {(0, 1, 2)}


def test_an_evaluation_without_it_is_another_evaluation(
    settings: Settings, request: pytest.FixtureRequest
) -> None:
    before = load_state(settings).name
    request.getfixturevalue("first_half")
    assert load_state(settings).name != before


def test_what_stands_in_for_it_is_followed_where_it_cannot_be_run() -> None:
    plans = dict.fromkeys(["gender", "afib-loo", "challenge2017"])
    register_benchmark(Impossible())
    try:
        assert followed_benchmarks(plans) == ["afib-loo", "challenge2017", "gender"]  # type: ignore[arg-type]
    finally:
        OTHER_BENCHMARKS.remove("impossible")


def test_the_name_of_one_of_the_papers_is_refused() -> None:
    class Again(FirstHalf):
        name = "gender"

    with pytest.raises(DeapsError, match="there is a benchmark 'gender' already"):
        register_benchmark(Again())


def test_it_joins_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(
        "from deaps.benchmarks.interface import register_benchmark\n"
        "from deaps.benchmarks.gender import Gender\n"
        "class Ours(Gender):\n    name = 'ours'\n"
        "register_benchmark(Ours())\n"
    )
    about = tmp_path / "ours-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[deaps.benchmarks]\nours = ours\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from deaps.benchmarks.interface import all_benchmarks; print(list(all_benchmarks())[-1])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "ours\n"


def test_the_papers_benchmarks_are_followed_as_the_paper_has_it() -> None:
    followed = [benchmark.name for benchmark in all_benchmarks().values() if benchmark.followed]
    assert followed == ["afib-transfer", "challenge2017", "inner-folds", "inner-few", "inner-afib"]
