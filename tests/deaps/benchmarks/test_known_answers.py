"""Every benchmark on features whose answer is known."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deaps.benchmarks.afib import afib_examples
from deaps.benchmarks.gender import Gender
from deaps.benchmarks.interface import paper_benchmarks
from deaps.config import BenchmarkSettings
from deaps.evaluation.answers import FoldJob
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import NotRunError
from deaps.evaluation.intervals import Entry
from deaps.evaluation.outcomes import BenchmarkFigures
from deaps.evaluation.plan import Plan, plan_benchmark, windows_of
from storage.snapshot import open_index
from tests.deaps.evaluation.labelled_store import SETTINGS, make_labelled_store, table_of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_labelled_store(tmp_path_factory.mktemp("labelled"))


def planned(store: Path, name: str, settings: BenchmarkSettings = SETTINGS) -> Plan:
    with open_index(store) as index:
        return plan_benchmark(paper_benchmarks()[name], index, settings, DatasetLabels())


def accuracy(plan: Plan, values: np.ndarray) -> float:
    job, table = FoldJob.of(plan), table_of(plan, values)
    answers = [job.answer([table], fold, "svc") for fold in range(len(plan.folds))]
    figures = BenchmarkFigures(plan, [Entry("made", (answers,), "method")])
    return figures.outcome("made").scores[0].value


@pytest.mark.parametrize("name", paper_benchmarks())
def test_separable_features_give_100_percent(store: Path, name: str) -> None:
    plan = planned(store, name)
    rng = np.random.default_rng(0)
    corners = 10 * np.eye(len(plan.benchmark.classes))[plan.examples.labels]
    assert accuracy(plan, corners + 0.1 * rng.standard_normal(corners.shape)) == 1.0


def test_features_of_two_tables_are_read_side_by_side(store: Path) -> None:
    """As an encoder's features and the RR numbers are: either alone may know nothing."""
    plan = planned(store, "challenge2017")
    rng = np.random.default_rng(0)
    corners = 10 * np.eye(len(plan.benchmark.classes))[plan.examples.labels]
    noise = table_of(plan, rng.standard_normal((len(plan.examples), 4)))
    known = table_of(plan, corners + 0.1 * rng.standard_normal(corners.shape))
    truth = plan.examples.labels[plan.folds[0].test]
    for tables in ([noise, known], [known, noise]):
        assert (FoldJob.of(plan).answer(tables, 0, "svc").labels == truth).all()
    assert (FoldJob.of(plan).answer([noise], 0, "svc").labels != truth).any()


def test_each_subject_has_no_more_windows_than_are_set(store: Path) -> None:
    def windows(seed: int, most: int | str) -> tuple[list[str], list[tuple[int, int]]]:
        settings = SETTINGS.model_copy(update={"windows_per_subject": most, "seed": seed})
        with open_index(store) as index:
            found = afib_examples(index, "afdb", settings)
        places = zip(found.windows.recording_id.tolist(), found.windows.row.tolist(), strict=True)
        return found.subjects.tolist(), list(places)

    subjects, drawn = windows(0, 2)
    assert Counter(subjects) == dict.fromkeys(subjects, 2)
    assert windows(0, 2)[1] == drawn
    assert {tuple(windows(seed, 2)[1]) for seed in range(5)} != {tuple(drawn)}
    assert set(drawn) < set(windows(0, "all")[1])


def accuracy_of_noise(plan: Plan, draws: int) -> float:
    """Return the mean accuracy on features that know the example and nothing of its class."""
    rng = np.random.default_rng(0)
    noise = (rng.standard_normal((len(plan.examples), 30)) for _ in range(draws))
    return float(np.mean([accuracy(plan, features) for features in noise]))


@pytest.mark.parametrize("name", [b.name for b in paper_benchmarks().values() if not b.leak])
def test_features_that_know_nothing_give_chance(store: Path, name: str) -> None:
    plan = planned(store, name)
    # Three standard errors of the mean of 40 draws are 0.04 to 0.07.
    assert accuracy_of_noise(plan, 40) == pytest.approx(1 / len(plan.benchmark.classes), abs=0.07)


@pytest.mark.parametrize("name", paper_benchmarks())
def test_such_features_would_show_a_leak(store: Path, name: str) -> None:
    plan = planned(store, name)
    leaking = tuple(replace(f, train=np.union1d(f.train, f.test)) for f in plan.folds)
    assert accuracy_of_noise(replace(plan, folds=leaking), 3) > 0.9


def test_the_benchmark_that_declares_a_leak_has_one(store: Path) -> None:
    plan = planned(store, "challenge2017-leaking")
    assert accuracy_of_noise(plan, 3) > 0.9
    honest = planned(store, "challenge2017")
    np.testing.assert_array_equal(plan.tested, honest.tested)


def test_afib_takes_whole_windows_of_recordings_with_afib(store: Path) -> None:
    settings = SETTINGS.model_copy(update={"afib_loo": "mitdb"})
    facts = planned(store, "afib-loo", settings).facts
    assert facts.examples == {"normal": 8, "AFib": 8}  # no 100, no flutter, no mixed window
    assert facts.subjects == 3  # 201 and 202 are one person


def test_flutter_counts_as_normal_only_if_asked(store: Path) -> None:
    settings = SETTINGS.model_copy(update={"afib_loo": "mitdb", "afib_excluded": ()})
    assert planned(store, "afib-loo", settings).facts.examples["normal"] == 9


def test_transfer_fits_on_one_data_set_and_tests_on_the_other(store: Path) -> None:
    plan = planned(store, "afib-transfer")
    (fold,) = plan.folds
    assert {name.split("/")[0] for name in plan.examples.subjects[fold.train]} == {"mitdb"}
    assert {name.split("/")[0] for name in plan.examples.subjects[fold.test]} == {"afdb"}


def test_gender_draws_one_window_of_each_of_the_subjects_asked_for(store: Path) -> None:
    plan = planned(store, "gender")
    assert len(plan.examples) == len(set(plan.examples.subjects)) == 20
    other = planned(store, "gender", SETTINGS.model_copy(update={"seed": 1}))
    assert set(plan.examples.subjects) != set(other.examples.subjects)
    assert set(plan.examples.subjects) == set(planned(store, "gender").examples.subjects)


def test_gender_may_take_all_windows_of_all_subjects(store: Path) -> None:
    settings = SETTINGS.model_copy(update={"gender_subjects": "all", "gender_windows": "all"})
    assert planned(store, "gender", settings).facts.examples == {"female": 96, "male": 96}


def test_too_few_subjects_for_gender_are_told(store: Path) -> None:
    settings = SETTINGS.model_copy(update={"gender_subjects": 1549})
    (note,) = planned(store, "gender", settings).facts.removed
    assert "all 24 subjects with usable windows are used" in note
    protocol = Gender().protocol(settings, DatasetLabels())
    assert "folds over subjects" in protocol
    assert "549" not in note + protocol


def test_challenge_drops_noisy_recordings_and_averages_windows(store: Path) -> None:
    facts = planned(store, "challenge2017").facts
    assert facts.examples == {"normal": 15, "AFib": 15, "other": 15}
    assert facts.tested == {"normal": 3, "AFib": 3, "other": 3}
    assert sum(facts.windows.values()) > 45
    assert "15 recordings labelled noisy" in facts.removed


def test_inner_folds_never_see_the_validation_recordings(store: Path) -> None:
    tested = set(planned(store, "challenge2017").examples.subjects[:9])
    for name in ("inner-folds", "inner-few"):
        assert not tested & set(planned(store, name).examples.subjects)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("afib-transfer", {"afib_test": "absent"}),
        ("afib-loo", {"afib_loo": "shhs"}),
        ("gender", {"gender": "mitdb"}),
        ("challenge2017", {"challenge": "absent"}),
    ],
)
def test_a_data_set_that_lacks_what_is_needed_gives_a_reason(
    store: Path, name: str, change: dict[str, str]
) -> None:
    with pytest.raises(NotRunError):
        planned(store, name, SETTINGS.model_copy(update=change))


def test_windows_of_all_benchmarks_are_named_once(store: Path) -> None:
    windows = windows_of([planned(store, name) for name in paper_benchmarks()])
    assert len(np.unique(windows.key)) == len(windows)
    assert (np.diff(windows.key) > 0).all()
