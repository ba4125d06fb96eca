"""From the whole configuration to what one training depends on."""

from __future__ import annotations

from deaps.config import ModelSettings
from deaps.run_folder import TrainingPlan
from flows.config import Settings


def training_plan(settings: Settings, method: str) -> TrainingPlan:
    """Return the plan of training ``method`` with these settings."""
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
