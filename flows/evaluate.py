"""The evaluation stage: features of every representation, every benchmark, one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prefect import flow, task
from prefect.artifacts import create_link_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from deaps.evaluation import Ablation, Evaluation, Stage, Trial
from deaps.probing.plan import Plan, windows_of
from deaps.training.device import choose_device
from deaps.training.run_folder import Run
from flows.config import Settings
from flows.experiment.exhibit_work import Exhibits
from flows.experiment.feature_jobs import WindowSource, fill_missing, missing_features
from flows.experiment.fold_jobs import (
    Outcomes,
    benchmark_records,
    cells,
    plan_all,
    run_folds,
)
from flows.experiment.folder import keep_evaluation
from flows.experiment.plan import Experiment
from flows.experiment.provenance import provenance
from flows.experiment.representations import Compared, compared, described
from flows.experiment.state import ExperimentState, look
from flows.experiment.stopwatch import Stopwatch
from flows.monitoring.event_log import EventLog
from flows.monitoring.stage_events import log_publication
from flows.report import write_page
from flows.runtime.dask_pool import worker_pool
from flows.runtime.flow_start import command_line, start_flow
from flows.runtime.progress import StageProgress
from storage.publish import republish
from storage.snapshot import open_index

if TYPE_CHECKING:
    from distributed import Client

_TASK = task(cache_policy=NO_CACHE, persist_result=False)


@flow(name="deaps-evaluate")
def evaluate(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Run every benchmark on every finished run of the experiment; return the report's page."""
    settings, preset = start_flow(preset, config, overrides)
    command = command_line("evaluate", preset, config, overrides)
    page = write_page(evaluate_all(settings, command=command))
    link_report(settings, page)
    return str(page)


def link_report(settings: Settings, page: Path) -> None:
    """Leave a link to the report in Prefect's pages."""
    served = settings.execution.reports_url
    create_link_artifact(
        f"{served.rstrip('/')}/{page.parent.name}/{page.name}" if served else page.as_uri(),
        key="report",
        link_text=f"report {page.parent.name}",
        description=f"On the machine that wrote it: {page}",
    )


def evaluate_all(
    settings: Settings, earlier: Sequence[Stage] = (), command: str = "deaps evaluate"
) -> Path:
    """Evaluate what is trained and return the folder; for use inside a flow.

    ``earlier`` are the stages before this one, for the record.
    """
    state = look(settings)
    state.require_runs()
    if not state.evaluated:
        keep_evaluation(measure(state, Stopwatch(earlier), command), state.folder)
        log = EventLog(settings.store.root)
        log_publication(log, republish(settings.store.root), stage="evaluate")
    return state.folder


class Work:
    """What the tasks of this stage share.

    A plain class on purpose: Prefect walks through dataclasses and lists among parameters.
    """

    def __init__(
        self, state: ExperimentState, plans: dict[str, Plan], items: list[Compared], client: Client
    ) -> None:
        self.state, self.plans, self.items, self.client = state, plans, items, client
        self.windows = windows_of(plans.values())


def measure(state: ExperimentState, watch: Stopwatch, command: str) -> Evaluation:
    """Return the evaluation: features, folds, exhibits."""
    settings, experiment = state.settings, state.experiment
    log = EventLog(settings.store.root)
    with open_index(settings.store.root) as index, worker_pool(settings.execution) as client:
        plans, not_run = plan_all(index, settings)
        items = list(compared(state, windows_of(plans.values())))
        work = Work(state, plans, items, client)
        with watch.stage("embed"), log.stage("embed"):
            embed(work)
        with watch.stage("benchmarks"), log.stage("benchmarks"):
            outcomes = run_benchmarks(work)
        with watch.stage("figures"), log.stage("figures"):
            shown = Exhibits(settings, index, plans, items).all(state.runs, outcomes)
        shown["absent"] += state.missing
        return Evaluation(
            id=state.name,
            title=_title(settings),
            representations=tuple(described(state, items)),
            benchmarks=benchmark_records(settings, plans, not_run, outcomes),
            ablations=_trained_rows(experiment.ablations, state.runs),
            trials=tuple(_trials(experiment, outcomes)),
            provenance=provenance(settings, index, items, watch.stages, command),
            **shown,
        )


@_TASK
def embed(work: Work) -> None:
    """Compute the features that are not there yet."""
    settings, state = work.state.settings, work.state
    total = len(missing_features(work.items)) * len(work.windows)
    with StageProgress("embedding windows", total, key="embedding-progress") as progress:
        fill_missing(
            WindowSource(settings.store.root, state.snapshot_id),
            work.items,
            work.windows,
            client=work.client,
            device=choose_device(settings.execution.device),
            advance=progress.advance,
        )


@_TASK
def run_benchmarks(work: Work) -> Outcomes:
    """Run every fold of every benchmark, and leave the accuracies in Prefect's pages."""
    trained = work.state.experiment.trained
    trials = {each.name for each in trained if each.role == "trial"}
    wanted = cells(work.items, work.plans, trials)
    total = sum(len(work.plans[cell.benchmark].folds) for cell, _ in wanted)
    with StageProgress("benchmarks: folds", total, key="benchmark-progress") as progress:
        outcomes = run_folds(wanted, work.plans, work.client, progress.advance)
    create_table_artifact(
        _accuracies(outcomes),
        key="benchmark-accuracies",
        description="Accuracy of every representation in every benchmark.",
    )
    return outcomes


def _trained_rows(ablations: Sequence[Ablation], runs: Mapping[str, Run]) -> tuple[Ablation, ...]:
    """Return the ablations with rows that are not trained saying so."""
    return tuple(
        ablation.model_copy(
            update={
                "rows": tuple(
                    row
                    if row.representation in runs
                    else row.model_copy(update={"representation": None})
                    for row in ablation.rows
                )
            }
        )
        for ablation in ablations
    )


def _accuracies(outcomes: Outcomes) -> list[dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for cell, outcome in outcomes.items():
        if cell.step is None:
            row = rows.setdefault(cell.representation, {"representation": cell.representation})
            row[cell.benchmark] = f"{100 * outcome.scores[0].value:.1f} %"
    return list(rows.values())


def _trials(experiment: Experiment, outcomes: Outcomes) -> list[Trial]:
    """Return the trials, each after its method as it is set, with what the inner folds say."""
    tried = [t for t in experiment.trained if t.role == "trial"]
    methods = dict.fromkeys(t.plan.method for t in tried)
    as_set = {t.plan.method: t for t in experiment.trained if t.role == "method"}
    listed = []
    for method in methods:
        listed += [as_set[method]] if method in as_set else []
        listed += [t for t in tried if t.plan.method == method]
    return [
        Trial(
            name=trained.label,
            changed=", ".join(trained.changed) or "nothing",
            scores={
                cell.benchmark: outcome.scores[0].value
                for cell, outcome in outcomes.items()
                if cell.representation == trained.name
                and cell.step is None
                and cell.benchmark.startswith("inner")
            },
            chosen=trained.role == "method",
        )
        for trained in listed
    ]


def _title(settings: Settings) -> str:
    trained_on = ", ".join(settings.sampling.datasets) or "all data sets"
    return f"Self-supervised ECG representations, trained on {trained_on}"
