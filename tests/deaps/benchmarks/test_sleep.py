"""Benchmarks on sleep stages and apneas, on windows whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from deaps.benchmarks.interface import all_benchmarks, register_benchmark, sleep_benchmarks
from deaps.config import BenchmarkSettings
from deaps.evaluation.answers import FoldJob
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import NotRunError
from deaps.evaluation.intervals import Entry
from deaps.evaluation.metrics import cohen_kappa, confusion_matrix
from deaps.evaluation.outcomes import BenchmarkFigures
from deaps.evaluation.plan import Plan, plan_benchmark
from storage.errors import DeapsError
from storage.publish import publish
from storage.schema import DatasetRow, RecordingRow
from storage.snapshot import open_index
from tests.deaps.evaluation.labelled_store import recording, table_of
from tests.storage.index.test_scoring_rows import make_scoring
from tests.storage.made_store import SETTINGS as STORE_SETTINGS

SETTINGS = BenchmarkSettings(sleep="shhs", folds=3, bootstrap=50)
STAGES = ("W", "N1", "N2", "N3", "REM", "N3", "W", "REM")
PEOPLE, PAIRED = 8, 3


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish nights of eight windows: five people with one visit, three with two."""
    root = tmp_path_factory.mktemp("sleep")
    visits = [(f"p{k}", visit) for k in range(PEOPLE) for visit in ((1, 2) if k < PAIRED else (1,))]
    rows: list[RecordingRow] = []
    scorings = {}
    spans = [(10.0 * k, 10.0, stage, None) for k, stage in enumerate(STAGES)]
    events = [(12.0, 5.0, "hypopnea"), (30.2, 5.0, "central_apnea"), (49.5, 5.0, "hypopnea")]
    for subject, visit in visits:
        name = f"{subject}-{visit}"
        row = recording(root, "shhs", name, len(STAGES), subject=subject, visit=visit)
        rows.append(row)
        scorings["shhs", name] = make_scoring([*spans[:-1], (70.0, 4.0, "REM", None)], events)
    scored = [replace(row, scoring_digest="s") for row in rows]
    publish(root, scored, datasets=[DatasetRow("shhs")], settings=STORE_SETTINGS, scorings=scorings)
    return root


def planned(store: Path, name: str, **changes: Any) -> Plan:
    settings = SETTINGS.model_copy(update=changes)
    with open_index(store) as index:
        return plan_benchmark(all_benchmarks()[name], index, settings, DatasetLabels(shhs="SHHS"))


def scores(plan: Plan, values: np.ndarray) -> dict[str, float]:
    job, table = FoldJob.of(plan), table_of(plan, values)
    answers = [job.answer([table], fold, "svc") for fold in range(len(plan.folds))]
    figures = BenchmarkFigures(plan, [Entry("made", (answers,), "method")])
    return {score.metric: score.value for score in figures.outcome("made").scores}


@pytest.mark.parametrize("name", sleep_benchmarks())
def test_separable_features_give_100_percent_and_full_agreement(store: Path, name: str) -> None:
    plan = planned(store, name)
    rng = np.random.default_rng(0)
    corners = 10 * np.eye(len(plan.benchmark.classes))[plan.examples.labels]
    found = scores(plan, corners + 0.1 * rng.standard_normal(corners.shape))
    assert found["accuracy"] == found["balanced accuracy"] == found["kappa"] == 1.0


@pytest.mark.parametrize("name", sleep_benchmarks())
def test_features_that_know_nothing_agree_by_chance(store: Path, name: str) -> None:
    plan = planned(store, name)
    rng = np.random.default_rng(0)
    kappas = [
        scores(plan, rng.standard_normal((len(plan.examples), 30)))["kappa"] for _ in range(20)
    ]
    assert np.mean(kappas) == pytest.approx(0, abs=0.08)


def test_only_people_with_one_visit_are_used_unless_all_are_asked_for(store: Path) -> None:
    alone = {f"shhs/p{k}" for k in range(PAIRED, PEOPLE)}
    assert set(planned(store, "sleep-stage").examples.subjects) == alone
    everyone = planned(store, "sleep-stage", sleep_people="all").examples.subjects
    assert len(set(everyone)) == PEOPLE


def test_stages_are_four_classes_or_three_and_partial_windows_have_none(store: Path) -> None:
    each = PEOPLE - PAIRED
    four = planned(store, "sleep-stage").facts.examples
    assert four == {"W": 2 * each, "N1-N2": 2 * each, "N3": 2 * each, "REM": each}
    three = planned(store, "sleep-stage-3").facts.examples
    assert three == {"W": 2 * each, "NREM": 4 * each, "REM": each}


def test_an_apnea_counts_asleep_and_for_a_second_or_more(store: Path) -> None:
    facts = planned(store, "apnea").facts.examples
    # Asleep are windows 1 to 5; 1, 3 and 5 have an event, 4 half a second of one.
    assert facts == {"none": PEOPLE - PAIRED, "event": 3 * (PEOPLE - PAIRED)}


def test_windows_are_drawn_by_seed(store: Path) -> None:
    first = planned(store, "sleep-stage", sleep_windows=30)
    assert len(first.examples) == 30
    assert first.facts.removed == ("5 further windows, not drawn",)
    again = planned(store, "sleep-stage", sleep_windows=30)
    assert np.array_equal(again.examples.windows.key, first.examples.windows.key)
    other = planned(store, "sleep-stage", sleep_windows=30, seed=1)
    assert not np.array_equal(other.examples.windows.key, first.examples.windows.key)


def test_there_are_no_more_folds_than_people(store: Path) -> None:
    assert len(planned(store, "sleep-stage", folds=20).folds) == PEOPLE - PAIRED


def test_a_published_split_takes_the_place_of_folds(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.csv"
    path.write_text("id,split\np3,train\np4,train\np5-1,test\np6,val\n")
    plan = planned(store, "sleep-stage", sleep_split=path)
    (fold,) = plan.folds
    assert set(plan.examples.subjects[fold.train]) == {"shhs/p3", "shhs/p4"}
    assert set(plan.examples.subjects[fold.test]) == {"shhs/p5"}
    assert "as split.csv says" in plan.benchmark.protocol(
        SETTINGS.model_copy(update={"sleep_split": path}), DatasetLabels(shhs="SHHS")
    )


@pytest.mark.parametrize("text", ["id,split\np3,maybe\n", "subject\np3\n"])
def test_a_split_that_is_none_is_refused(store: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "split.csv"
    path.write_text(text)
    with pytest.raises(DeapsError, match="in row 2; expected the columns id and split") as refused:
        planned(store, "sleep-stage", sleep_split=path)
    assert "p3" not in str(refused.value)


def test_without_scored_sleep_there_is_a_reason(store: Path, tmp_path: Path) -> None:
    row = recording(tmp_path, "shhs", "a", 4)
    publish(tmp_path, [row], datasets=[DatasetRow("shhs")], settings=STORE_SETTINGS)
    with pytest.raises(NotRunError, match="no such windows with a sleep stage"):
        planned(tmp_path, "sleep-stage")
    assert sleep_benchmarks()["apnea"].datasets(BenchmarkSettings()) == ()


def test_kappa_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    labels, answers = rng.integers(0, 4, 300), rng.integers(0, 4, 300)
    answers[:150] = labels[:150]
    ours = cohen_kappa(confusion_matrix(labels, answers, 4))
    assert float(ours) == pytest.approx(cohen_kappa_score(labels, answers))
    assert np.isnan(cohen_kappa(np.diag([5, 0])))


def test_their_names_are_taken() -> None:
    with pytest.raises(DeapsError, match="'apnea' already"):
        register_benchmark(sleep_benchmarks()["apnea"])
