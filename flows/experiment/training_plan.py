"""From the whole configuration to what one training depends on."""

from __future__ import annotations

from collections.abc import Iterable

from deaps.config import MethodName, ModelSettings
from deaps.training.run_folder import TrainingPlan
from flows.config import Settings, overridden


def method_plan(
    settings: Settings, method: MethodName, overrides: Iterable[str] = ()
) -> TrainingPlan:
    """Return the plan of training ``method`` with what is tuned for it, and then ``overrides``."""
    tuned = settings.experiment.tuned.get(method, ())
    return training_plan(overridden(settings, [*tuned, *overrides]), method)


def training_plan(settings: Settings, method: str) -> TrainingPlan:
    """Return the plan of training ``method`` with just these settings."""
    model = ModelSettings(
        encoder=settings.encoder, deaps=settings.deaps, contrast=settings.contrast, tfc=settings.tfc
    )
    return TrainingPlan(
        method=method,
        model=model,
        sampling=settings.sampling,
        training=settings.training,
        normalise=settings.store.normalise,
    )
