"""Nobody is tested that an encoder was trained on, unless the benchmark declares it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deaps import Encoder
from deaps.config import BenchmarkSettings
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.guards import guard_plans
from deaps.evaluation.plan import Plan, plan_benchmarks
from deaps.models.encoder_file import read_about, read_contract
from deaps.train import train_run
from deaps.training.run_folder import Run, create_run, encoder_files, open_run
from deaps.training.trained_on import (
    TRAINED_ON_NAME,
    TrainedOn,
    read_trained_on,
    short_hash,
    trained_on_of_file,
)
from flows.config import load_settings
from flows.experiment.plan import training_plan
from storage.snapshot import open_index
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.deaps.models.made_encoder import write_encoder

NOBODY = TrainedOn(frozenset(), frozenset())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_labelled_store(tmp_path_factory.mktemp("guarded"))


@pytest.fixture(scope="module")
def plans(store: Path) -> dict[str, Plan]:
    with open_index(store) as index:
        return plan_benchmarks(index, BenchmarkSettings(), {}, DatasetLabels())[0]


@pytest.fixture(scope="module")
def run(store: Path) -> Run:
    """PCLR, trained for a step on people of SHHS."""
    overrides = [
        'sampling.datasets=["shhs"]', "training.batch=4", "training.iterations=1",
        f"store.root={store}",
    ]  # fmt: skip
    made = create_run(store, training_plan(load_settings(overrides=overrides), "pclr"))
    return train_run(made.folder, device="cpu")


def test_a_run_saves_who_it_was_trained_on(run: Run) -> None:
    kept = read_trained_on(run)
    assert kept.subjects
    assert {name.split("/")[0] for name in kept.subjects} == {"shhs"}
    assert len(kept.recordings) >= len(kept.subjects)


def test_what_an_older_run_did_not_keep_is_found_in_its_index(run: Run) -> None:
    kept = read_trained_on(run)
    (run.folder / TRAINED_ON_NAME).unlink()
    assert read_trained_on(open_run(run.folder)) == kept


def test_an_encoders_file_knows_people_by_hashes_alone(run: Run) -> None:
    (*_, (_, path)) = encoder_files(run.folder)
    about, kept = read_about(path), read_trained_on(run)
    assert about["trained_on"] == kept.digest
    assert about["trained_subjects"].split() == sorted(map(short_hash, kept.subjects))
    assert about["trained_recordings"].split() == sorted(map(short_hash, kept.recordings))
    assert not any(name in str(about) for name in kept.subjects)


def test_people_in_an_encoders_file_are_found_by_their_hashes(run: Run) -> None:
    (*_, (_, path)) = encoder_files(run.folder)
    kept, in_file = read_trained_on(run), trained_on_of_file(path)
    somebody, something = min(kept.subjects), min(kept.recordings)
    assert in_file.shared_subjects([somebody, "shhs/nobody"]) == {somebody}
    assert in_file.shared_recordings([something, "0" * 64]) == {something}


def test_a_file_that_does_not_say_who_it_has_seen_is_a_warning(tmp_path: Path) -> None:
    path = write_encoder(tmp_path / "e.safetensors", Encoder())
    with pytest.warns(UserWarning, match="does not say who it was trained on"):
        seen = trained_on_of_file(path)
    assert not seen.recorded
    assert not (seen | NOBODY).recorded


def test_a_file_that_says_who_it_has_seen_is_none(run: Run) -> None:
    (*_, (_, path)) = encoder_files(run.folder)
    assert trained_on_of_file(path).recorded


def test_every_benchmark_says_of_which_encoder_nothing_is_recorded(
    plans: dict[str, Plan], run: Run
) -> None:
    unknown = TrainedOn(frozenset(), frozenset(), hashed=True, recorded=False)
    guarded = guard_plans(plans, {"pclr": read_trained_on(run), "shipped": unknown})
    sentence = "Whom shipped was trained on is not recorded, so tested people may be among them."
    assert guarded.seen.keys() == guarded.plans.keys() == plans.keys()
    assert guarded.seen["afib-loo"] == sentence
    assert guarded.seen["gender"].endswith(f"the benchmark declares it. {sentence}")


def test_an_encoders_contract_has_the_leads_that_it_was_trained_on(run: Run) -> None:
    (*_, (_, path)) = encoder_files(run.folder)
    contract = read_contract(path)
    assert contract is not None
    assert contract.channels == {"shhs": ("ECG",)}
    assert (contract.algorithms, contract.leads) == ((1,), ("ECG",))


def test_a_benchmark_that_tests_trained_people_is_refused(plans: dict[str, Plan]) -> None:
    plan = plans["afib-loo"]
    tested = plan.examples.subjects[plan.tested]
    leaking = TrainedOn(frozenset({str(tested[0])}), frozenset())
    guarded = guard_plans(plans, {"deaps": NOBODY, "pclr": leaking})
    n = len(np.unique(tested))
    assert guarded.refused["afib-loo"].startswith(
        f"refused, because 1 of {n} tested people are in the pre-training of pclr"
    )
    assert "afib-loo" not in guarded.plans
    assert {"gender", "challenge2017"} <= set(guarded.plans)


def test_a_trial_is_guarded_for_the_benchmarks_that_judge_it_alone(plans: dict[str, Plan]) -> None:
    """Trials have figures on the inner folds only: they cannot leak into reported ones."""
    everybody = frozenset(str(name) for plan in plans.values() for name in plan.examples.subjects)
    leaking = TrainedOn(everybody, frozenset())
    guarded = guard_plans(plans, {"deaps": NOBODY, "hot": leaking}, {"hot"})
    assert set(guarded.refused) == {"inner-folds", "inner-few"}
    as_method = guard_plans(plans, {"deaps": NOBODY, "hot": leaking})
    assert {"afib-loo", "afib-transfer", "challenge2017"} <= set(as_method.refused)


def test_a_copy_of_a_tested_recording_under_another_name_is_found(plans: dict[str, Plan]) -> None:
    plan = plans["challenge2017"]
    content = str(plan.examples.contents[plan.tested[0]])
    guarded = guard_plans(plans, {"deaps": TrainedOn(frozenset(), frozenset({content}))})
    assert "tested recordings are in the pre-training of deaps" in guarded.refused["challenge2017"]


def test_people_who_are_only_fitted_on_may_be_trained_on(plans: dict[str, Plan]) -> None:
    plan = plans["afib-transfer"]
    fitted = set(plan.examples.subjects) - set(plan.examples.subjects[plan.tested])
    guarded = guard_plans(
        {"afib-transfer": plan}, {"deaps": TrainedOn(frozenset(fitted), frozenset())}
    )
    assert guarded.refused == {}


def test_a_benchmark_that_declares_it_is_run_and_says_so(plans: dict[str, Plan], run: Run) -> None:
    guarded = guard_plans(plans, {"pclr": read_trained_on(run)})
    assert "gender" in guarded.plans
    assert guarded.seen["gender"].endswith(
        "are in the pre-training of pclr, without labels; the benchmark declares it."
    )
    assert guarded.refused == {}
