"""An experiment: every training that is compared, each once, and the ablations among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from deaps.evaluation.document import Ablation, RepresentationRole
from deaps.training.run_folder import Run, TrainingPlan


class RunKey(NamedTuple):
    """A representation, and the seed of one of its trainings."""

    name: str
    seed: int


@dataclass(frozen=True, slots=True)
class Trained:
    """One training of a representation; with several seeds there are several."""

    name: str
    label: str
    role: RepresentationRole
    plan: TrainingPlan
    changed: tuple[str, ...] = ()
    """Overrides of the common settings."""

    @property
    def key(self) -> RunKey:
        """What it is known by in the experiment."""
        return RunKey(self.name, self.plan.training.seed)


@dataclass(frozen=True, slots=True)
class Experiment:
    """All trainings, each once, and the ablations that refer to them."""

    trained: tuple[Trained, ...]
    ablations: tuple[Ablation, ...]

    def trials(self) -> set[str]:
        """Return the names of trainings that are evaluated on the inner folds alone."""
        return {trained.name for trained in self.trained if trained.role == "trial"}

    def methods(self) -> list[str]:
        """Return the names of the methods' trainings."""
        names = (trained.name for trained in self.trained if trained.role == "method")
        return list(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A training of the experiment that is complete, with its run."""

    trained: Trained
    run: Run
