"""Methods by name: the paper's six, their sizes and steps, and what is known without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deaps.config import (
    ContrastSettings,
    DeapsSettings,
    ModelSettings,
    SamplingSettings,
    TrainingSettings,
)
from deaps.method_registry import BYOL, DEAPS, PAPER_METHODS, TF_C, find_method
from deaps.methods import build_method
from deaps.methods.contrastive import MixingUp
from deaps.methods.deaps import Byol, Deaps
from deaps.paper import COMPONENT_STEPS, ComponentStep
from deaps.sampling.sampler import Views
from deaps.training.run_folder import TrainingPlan
from storage.errors import DeapsError

VIEWS = {
    "deaps": Views.QUADRUPLE,
    "byol": Views.PAIR,
    "pclr": Views.PAIR,
    "clocs": Views.ADJACENT,
    "mixing-up": Views.PARTNER,
    "tf-c": Views.SINGLE,
}


def test_the_papers_methods_are_registered_in_the_order_of_the_report() -> None:
    assert tuple(VIEWS) == PAPER_METHODS


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_methods_are_built_by_name(name: str) -> None:
    method = build_method(name, ModelSettings())
    assert isinstance(method, find_method(name).load())
    assert method.views == VIEWS[name]


def test_unknown_method_is_answered_with_the_nearest() -> None:
    with pytest.raises(DeapsError, match=r"'DEAP': did you mean 'deaps'\? .*mixing-up, tf-c"):
        build_method("DEAP", ModelSettings())


def test_size_of_the_encoder_is_that_of_the_paper() -> None:
    assert find_method("byol").load().encoder_size(ModelSettings()) == (128, 1_192_616)


def test_size_of_tfc_is_that_of_the_paper() -> None:
    assert find_method("tf-c").load().encoder_size(ModelSettings()) == (256, 32_623_328)


def test_tfc_alone_has_its_own_number_of_steps() -> None:
    training = TrainingSettings(iterations=30, tfc_iterations=75)
    steps = {name: find_method(name).iterations(training) for name in PAPER_METHODS}
    assert steps == dict.fromkeys(PAPER_METHODS, 30) | {TF_C.name: 75}


def test_labels_are_the_papers_spelling() -> None:
    labels = [find_method(name).label for name in PAPER_METHODS]
    assert labels == ["DEAPS", "BYOL", "PCLR", "CLOCS", "Mixing-Up", "TF-C"]


def test_the_command_line_and_settings_do_without_torch() -> None:
    code = (
        "import sys; import flows.cli; from flows.config import load_settings; "
        "from flows.experiment.plan import plan_experiment; "
        "plan = plan_experiment(load_settings(preset='paper')).trained[0].plan; plan.iterations; "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_mixing_with_the_same_subject_draws_pairs() -> None:
    settings = ModelSettings(contrast=ContrastSettings(mixing_partner="subject"))
    assert MixingUp(settings).views == Views.PAIR


@pytest.mark.parametrize("step", COMPONENT_STEPS.values(), ids=list(COMPONENT_STEPS))
def test_rungs_override_settings_that_exist(step: ComponentStep) -> None:
    settings = ModelSettings(deaps=DeapsSettings(**step.changed))
    assert isinstance(build_method(step.method, settings), find_method(step.method).load())


def test_byol_is_deaps_without_what_it_adds() -> None:
    assert (DEAPS.load(), BYOL.load()) == (Deaps, Byol)
    byol = Byol(ModelSettings())
    bare = Deaps(ModelSettings(deaps=DeapsSettings(gradual=False, covariance_weight=0)))
    assert list(byol.state_dict()) == list(bare.state_dict())
    assert byol.settings == bare.settings


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("clocs", "above the diagonal along rows"),
        ("mixing-up", "here it has none"),
        ("tf-c", "a poly term"),
        ("tf-c", "largest of the whole array"),
        ("tf-c", "3e-6"),
    ],
)
def test_differences_from_the_authors_code_are_declared(name: str, words: str) -> None:
    assert sum(words in sentence for sentence in find_method(name).load().deviations) == 1


def test_words_on_a_method_do_not_name_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = TrainingPlan(
        "clocs", ModelSettings(), SamplingSettings(), TrainingSettings(), normalise="recording"
    )
    before = plan.identity()
    monkeypatch.setattr(find_method("clocs").load(), "deviations", ("Something else.",))
    assert plan.identity() == before
    assert "deviations" not in str(before)
