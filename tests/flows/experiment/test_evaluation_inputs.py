"""What an evaluation asks of its runs, and what the guard keeps it from asking."""

from __future__ import annotations

import pytest

from deaps.models.encoder_file import EncoderFileError
from deaps.training.trained_on import TrainedOn
from flows.config import Settings, load_settings
from flows.experiment import inputs
from flows.experiment.inputs import read_inputs
from flows.experiment.state import load_state
from storage.errors import DeapsError
from storage.snapshot import open_index
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.flows.inline_evaluation import LABELS, train_some
from tests.flows.test_evaluation import OVERRIDES


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A labelled store with one method trained."""
    root = make_labelled_store(tmp_path_factory.mktemp("asked"))
    settings = load_settings(overrides=[f"store.root={root}", *OVERRIDES])
    train_some(settings, "byol")
    return settings


def test_a_benchmark_that_tests_trained_people_is_not_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = load_state(settings)
    with open_index(settings.store.root) as index:
        before = read_inputs(state, index, LABELS)
        plan = before.plans["afib-loo"]
        leaking = TrainedOn(frozenset({str(plan.examples.subjects[plan.tested][0])}), frozenset())
        monkeypatch.setattr(inputs, "read_trained_on", lambda _: leaking)
        after = read_inputs(state, index, LABELS)
    assert after.not_run["afib-loo"].startswith("refused, because 1 of 3 tested people are in the")
    assert before.plans.keys() - after.plans.keys() == {"afib-loo", "afib-transfer"}
    asked = {request.key.benchmark for request in after.requests}
    assert asked == after.plans.keys()


def test_a_method_is_joined_with_the_rr_numbers(settings: Settings) -> None:
    state = load_state(settings)
    with open_index(settings.store.root) as index:
        inputs = read_inputs(state, index, LABELS)
    by_path = {file.path: file.representation for file in inputs.files}
    joined = [r for r in inputs.requests if r.key.representation == "byol + rr"]
    assert joined
    for request in joined:
        assert [by_path[path] for path in request.files] == ["byol", "rr"]


def test_windows_that_the_shipped_encoder_does_not_expect_stop_the_evaluation(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise EncoderFileError("other windows")

    monkeypatch.setattr(inputs, "require_chain_of_store", refuse)
    state = load_state(settings)
    with (
        open_index(settings.store.root) as index,
        pytest.raises(DeapsError, match=r"to leave it out: --set experiment\.shipped=false"),
    ):
        read_inputs(state, index, LABELS)
