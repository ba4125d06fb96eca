from __future__ import annotations

from typing import Any

import pytest

from deaps.config import ContrastSettings, DeapsSettings, ModelSettings
from deaps.ladder import LADDER
from deaps.methods import METHODS, build_method
from deaps.methods.byol import Byol
from deaps.methods.deaps import Deaps
from deaps.methods.mixing_up import MixingUp
from deaps.sampling.batch import Views

VIEWS = {
    "deaps": Views.QUADRUPLE,
    "byol": Views.PAIR,
    "pclr": Views.PAIR,
    "clocs": Views.ADJACENT,
    "mixing-up": Views.PARTNER,
    "tf-c": Views.SINGLE,
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_built_by_name(name: str) -> None:
    method = build_method(name, ModelSettings())
    assert method.name == name
    assert method.views == VIEWS[name]


def test_unknown_method_is_told_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'DEAP'; did you mean 'deaps'\? .*mixing-up, tf-c"):
        build_method("DEAP", ModelSettings())


def test_mixing_with_the_same_subject_draws_pairs() -> None:
    settings = ModelSettings(contrast=ContrastSettings(mixing_partner="subject"))
    assert MixingUp(settings).views == Views.PAIR


@pytest.mark.parametrize(("name", "overrides"), LADDER.values(), ids=list(LADDER))
def test_rungs_override_settings_that_exist(name: str, overrides: dict[str, Any]) -> None:
    settings = ModelSettings(deaps=DeapsSettings(**overrides))
    assert build_method(name, settings).name == name


def test_byol_is_deaps_without_what_it_adds() -> None:
    byol = Byol(ModelSettings())
    bare = Deaps(ModelSettings(deaps=DeapsSettings(gradual=False, covariance_weight=0)))
    assert list(byol.state_dict()) == list(bare.state_dict())
    assert byol.settings == bare.settings
