"""From settings to what the pipeline trains: methods, ablations and trials, each once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from deaps.config import MethodName, ModelSettings
from deaps.evaluation.document import Ablation, AblationRow
from deaps.experiment import Experiment, RunKey, Trained
from deaps.method_registry import DEAPS, find_method
from deaps.paper import COMPONENT_STEPS, FEATURES, SPAN_S
from deaps.training.device import settle_precision
from deaps.training.run_folder import TrainingPlan
from flows.config import Settings, overridden


@dataclass(frozen=True, slots=True)
class _PlannedRow:
    """A row of an ablation: what it is called, and how it is trained."""

    label: str
    overrides: Iterable[str]
    paper: dict[str, float] = field(default_factory=dict)
    """The paper's accuracies, by benchmark."""
    method: MethodName = DEAPS.name
    tuned_as: MethodName = DEAPS.name


def plan_experiment(settings: Settings) -> Experiment:
    """Return the trainings that the settings ask for, methods first."""
    trained: dict[RunKey, Trained] = {}
    for method in settings.experiment.methods:
        changed = settings.experiment.tuned.get(method, ())
        for plan in seeded_plans(settings, method):
            _add(trained, Trained(method, find_method(method).label, "method", plan, changed))
    ablations = tuple(_ablations(settings, trained))
    for name, trial in settings.experiment.trials.items():
        plan = training_plan(overridden(settings, trial.overrides), trial.method)
        _add(trained, Trained(name, name, "trial", plan, trial.overrides))
    return Experiment(tuple(trained.values()), ablations)


def method_plan(
    settings: Settings,
    method: MethodName,
    overrides: Iterable[str] = (),
    *,
    tuned_as: MethodName | None = None,
) -> TrainingPlan:
    """Return the plan of training ``method`` with what is tuned for it, and then ``overrides``.

    ``tuned_as`` names another method, to have what is tuned for that one.
    """
    tuned = settings.experiment.tuned.get(tuned_as or method, ())
    return training_plan(overridden(settings, [*tuned, *overrides]), method)


def seeded_plans(
    settings: Settings,
    method: MethodName,
    overrides: Iterable[str] = (),
    *,
    tuned_as: MethodName | None = None,
) -> list[TrainingPlan]:
    """Return the plans that `method_plan` describes, one for each seed of the experiment."""
    plan = method_plan(settings, method, overrides, tuned_as=tuned_as)
    seeds = settings.experiment.seeds or (plan.training.seed,)
    return [
        replace(plan, training=plan.training.model_copy(update={"seed": seed})) for seed in seeds
    ]


def training_plan(settings: Settings, method: str) -> TrainingPlan:
    """Return the plan of training ``method`` with just these settings."""
    model = ModelSettings(
        encoder=settings.encoder,
        deaps=settings.deaps,
        contrast=settings.contrast,
        tfc=settings.tfc,
        own=settings.methods.of(method),
    )
    # Settled here, so that a run's name depends on the precision it was computed with.
    precision = settle_precision(settings.training.precision, settings.execution.device)
    return TrainingPlan(
        method=method,
        model=model,
        sampling=settings.sampling,
        training=settings.training.model_copy(update={"precision": precision}),
        normalise=settings.store.normalise,
    )


def _ablations(settings: Settings, trained: dict[RunKey, Trained]) -> Iterator[Ablation]:
    experiment = settings.experiment
    spans = [
        _PlannedRow(f"span {span} s", (f"sampling.triplet_span_s={span}",), SPAN_S.get(span, {}))
        for span in experiment.spans_s
    ]
    features = [
        _PlannedRow(f"{n} features", (f"deaps.features={n}",), FEATURES.get(n, {}))
        for n in experiment.features
    ]
    steps = [
        _PlannedRow(
            label,
            [f"deaps.{key}={json.dumps(value)}" for key, value in step.changed.items()],
            method=step.method,
            tuned_as=step.tuned_as,
        )
        for label, step in COMPONENT_STEPS.items()
    ]
    titles = {
        "components": ("Components", steps),
        "span": ("Span of a triplet", spans),
        "features": ("Features that the mask keeps", features),
    }
    for name in experiment.ablations:
        title, rows = titles[name]
        every_seed = name == "components"
        added = (_row(settings, trained, row, every_seed=every_seed) for row in rows)
        yield Ablation(name=name, title=title, rows=tuple(added))


def _row(
    settings: Settings, trained: dict[RunKey, Trained], row: _PlannedRow, *, every_seed: bool
) -> AblationRow:
    label = row.label
    if settings.experiment.tuned.get(row.method) != settings.experiment.tuned.get(row.tuned_as):
        label = f"{label}, tuned as {find_method(row.tuned_as).label}"
    changed = settings.experiment.tuned.get(row.tuned_as, ())
    plans = seeded_plans(settings, row.method, row.overrides, tuned_as=row.tuned_as)
    names = [
        _add(trained, Trained(f"deaps, {label}", label, "ablation", plan, changed))
        for plan in (plans if every_seed else plans[:1])
    ]
    return AblationRow(label=label, representation=names[0], paper=row.paper)


def _add(trained: dict[RunKey, Trained], wanted: Trained) -> str:
    """Add a training unless an equal one is there already; return the name of the one there.

    A trial stays one even if a step of an ablation is equal: their figures are reported apart.
    """
    for present in trained.values():
        if present.plan == wanted.plan and (present.role, wanted.role) != ("ablation", "trial"):
            return present.name
    trained[wanted.key] = wanted
    return wanted.name
