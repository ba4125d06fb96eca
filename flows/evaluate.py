"""The evaluation stage: features of every representation, every benchmark, one document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prefect import flow

from deaps.data_part import DataPart
from deaps.evaluation import BenchmarkRecord, DatasetLabels, Evaluation, Provenance, Stage
from deaps.exhibits.collection import ExhibitMaker
from deaps.experiment import FinishedRun
from deaps.models.encoder_file import encoder_file, require_chain
from deaps.probing.answer_files import files_to_embed
from deaps.probing.answers import AnswerRequest, AnswersByKey, requests
from deaps.probing.examples import Windows
from deaps.probing.feature_source import FeatureSource
from deaps.probing.outcomes.judging import Judge, accuracies_by_step, ranks
from deaps.probing.outcomes.records import (
    accuracy_table,
    benchmark_records,
    trained_ablations,
    trial_records,
    with_figures,
)
from deaps.probing.plan import Plan, plan_benchmarks, windows_of
from deaps.probing.pretraining_guard import GuardedPlans, guard_plans
from deaps.probing.representations import (
    FLOOR_NAMES,
    RR_FLOOR,
    SHIPPED_FLOOR,
    FeatureFile,
    first_seeds,
    floor_files,
    representation_records,
    run_files,
    with_joined,
)
from deaps.training.device import choose_device
from deaps.training.trained_on import TrainedOn, read_trained_on, trained_on_of_file
from flows.config import Settings
from flows.experiment.earlier import with_change
from flows.experiment.feature_jobs import WindowSource, fill_files
from flows.experiment.fold_jobs import run_folds
from flows.experiment.folder import keep_evaluation
from flows.experiment.page import write_page
from flows.experiment.provenance import Stopwatch, provenance
from flows.experiment.state import ExperimentState, load_state
from flows.monitoring.event_log import EventLog
from flows.monitoring.stage_events import log_publication
from flows.report import link_report
from flows.runtime.artifacts import leave_table
from flows.runtime.dask_pool import worker_pool
from flows.runtime.flow_start import command_line, is_stage, stages_before, start_flow
from flows.runtime.orchestration import opaque, stage_task
from flows.runtime.progress import StageProgress
from preprocessing.datasets import DATASETS
from storage.publish import republish
from storage.snapshot import open_index, read_snapshot
from storage.window_store import WindowStore
from storage.windows.mmap_cache import raise_open_file_limit

if TYPE_CHECKING:
    from distributed import Client
    from duckdb import DuckDBPyConnection

_TASK = stage_task()


@flow(name="deaps-evaluate")
def evaluate(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    blind: bool = False,
) -> str:
    """Run every benchmark on every finished run of the experiment; return the report's page.

    With ``blind`` keep the answers of the runs' probes alone, and return the store's folder.
    """
    settings, preset = start_flow(preset, config, overrides)
    if blind:
        return str(answer_blindly(settings))
    command = command_line("evaluate", preset, config, overrides)
    folder = evaluate_all(settings, stages_before(), command)
    if is_stage():  # the pipeline goes on to the report itself
        return str(folder)
    page = write_page(folder)
    link_report(settings, page)
    return str(page)


def evaluate_all(
    settings: Settings, earlier: Sequence[Stage] = (), command: str = "deaps evaluate"
) -> Path:
    """Evaluate what is trained and return the folder; for use inside a flow.

    ``earlier`` are the stages before this one, for the record.
    """
    state = load_state(settings)
    state.require_runs()
    if not state.evaluated:
        evaluation = measure(state, Stopwatch(earlier), command)
        keep_evaluation(with_change(evaluation, settings.store.root), state.folder)
        log = EventLog(settings.store.root)
        log_publication(log, republish(settings.store.root), stage="evaluate")
    return state.folder


def answer_blindly(settings: Settings) -> Path:
    """Fit every probe on finished runs, keep the answers and return the store.

    No figure is computed, so nobody can stop or change an experiment because of one. Floors wait
    for the evaluation: whoever makes it can compute them, without any training.
    """
    state = load_state(settings)
    state.require_runs()
    with evaluation_context(state) as context:
        answer(context.of_runs(), Stopwatch())
    return settings.store.root


@dataclass(frozen=True, slots=True)
class StageContext:
    """What the tasks of this stage share."""

    state: ExperimentState
    index: DuckDBPyConnection
    client: Client
    labels: DatasetLabels
    guarded: GuardedPlans
    not_run: Mapping[str, str]
    """Why the other benchmarks cannot be run."""
    windows: Windows
    files: Sequence[FeatureFile]
    requests: Sequence[AnswerRequest]

    @property
    def plans(self) -> Mapping[str, Plan]:
        """The benchmarks that are run."""
        return self.guarded.plans

    def of_runs(self) -> StageContext:
        """Return the same without floors, but for the RR numbers that are joined to a run's."""
        floors = set(FLOOR_NAMES)
        return replace(
            self,
            files=[f for f in self.files if f.representation not in floors - {RR_FLOOR}],
            requests=[r for r in self.requests if r.key.representation not in floors],
        )


@contextmanager
def evaluation_context(state: ExperimentState) -> Iterator[StageContext]:
    """Yield what the tasks need, with the published index open and workers running."""
    settings = state.settings
    raise_open_file_limit()  # the workers, which read windows of all recordings, inherit it
    with open_index(settings.store.root) as index, worker_pool(settings.execution) as client:
        yield stage_context(state, index, client, dataset_labels())


def stage_context(
    state: ExperimentState, index: DuckDBPyConnection, client: Client, labels: DatasetLabels
) -> StageContext:
    """Return what the tasks need: benchmarks, windows, files of features, answers to get."""
    guarded, not_run = guarded_plans(state, index, labels)
    windows = windows_of(guarded.plans.values())
    files = list_features(state, windows)
    wanted = wanted_answers(state, files, guarded.plans)
    return StageContext(state, index, client, labels, guarded, not_run, windows, files, wanted)


def measure(state: ExperimentState, watch: Stopwatch, command: str) -> Evaluation:
    """Return the evaluation: features, folds, exhibits."""
    log = EventLog(state.settings.store.root)
    with evaluation_context(state) as context:
        answers = answer(context, watch)
        with watch.stage("figures"), log.stage("figures"):
            evaluation = figures(context, answers)
            show_accuracies(evaluation.benchmarks)
        made = _provenance(context, watch.stages, command)
        return evaluation.model_copy(update={"provenance": made})


def answer(context: StageContext, watch: Stopwatch) -> AnswersByKey:
    """Return the answers of every probe: features first, then folds."""
    log = EventLog(context.state.settings.store.root)
    with watch.stage("embed"), log.stage("embed"):
        embed(opaque(context))
    with watch.stage("benchmarks"), log.stage("benchmarks"):
        return run_benchmarks(opaque(context))


def figures(context: StageContext, answers: AnswersByKey) -> Evaluation:
    """Return the evaluation of the probes' answers, as if it had taken no time."""
    state, settings, plans = context.state, context.state.settings, context.plans
    experiment, drawn = state.experiment, first_seeds(context.files)
    index, labels = context.index, context.labels
    described = benchmark_records(
        settings.benchmarks, plans, context.not_run, labels, context.guarded.seen
    )
    judge = Judge(experiment, settings.experiment.reference, settings.benchmarks.probes)
    by_benchmark = judge.figures(plans, answers)
    benchmarks = with_figures(described, by_benchmark, judge, answers)
    exhibits = ExhibitMaker(
        index,
        WindowStore(settings.store.root, normalise=settings.store.normalise),
        plans,
        drawn,
        methods=settings.experiment.methods,
        labels=labels,
        seed=settings.benchmarks.seed,
    ).make(
        state.first_runs,
        accuracies_by_step(plans, answers, {f.representation: f.seed for f in drawn}),
    )
    trained = representation_records(experiment, state.finished, context.files)
    return Evaluation(
        id=state.name,
        title=report_title(settings, labels),
        datasets=labels,
        synthetic=synthetic_datasets(index),
        representations=with_joined(trained, judge.reference, benchmarks),
        benchmarks=benchmarks,
        few_labels=judge.curves(plans, answers),
        ranks=ranks(by_benchmark, experiment.methods()),
        ablations=trained_ablations(experiment.ablations, state.first_runs),
        trials=trial_records(experiment, benchmarks),
        pca=exhibits.pca,
        evolution=exhibits.evolution,
        training=exhibits.training,
        quality=exhibits.quality,
        strips=exhibits.strips,
        quality_examples=exhibits.quality_examples,
        map=exhibits.map,
        nights=exhibits.nights,
        quality_grades=exhibits.quality_grades,
        absent=exhibits.absent + state.missing,
        provenance=_provenance(context, (), ""),
    )


def _provenance(context: StageContext, stages: Sequence[Stage], command: str) -> Provenance:
    settings = context.state.settings
    return provenance(settings, context.index, context.files, context.labels, stages, command)


def trained_on(finished: Sequence[FinishedRun]) -> dict[str, TrainedOn]:
    """Return whom each representation was trained on, over all its seeds."""
    by_name: dict[str, TrainedOn] = {}
    for each in finished:
        before = by_name.get(each.trained.name, TrainedOn(frozenset(), frozenset()))
        by_name[each.trained.name] = before | read_trained_on(each.run)
    return by_name


def guarded_plans(
    state: ExperimentState, index: DuckDBPyConnection, labels: DatasetLabels
) -> tuple[GuardedPlans, dict[str, str]]:
    """Return the benchmarks that can be run on the finished runs, and why others cannot."""
    settings = state.settings
    plans, not_run = plan_benchmarks(index, settings.benchmarks, settings.data.roots(), labels)
    trained = trained_on(state.finished)
    if settings.experiment.shipped:
        require_chain(None, read_snapshot(index).settings)
        trained[SHIPPED_FLOOR] = trained_on_of_file(encoder_file())
    guarded = guard_plans(plans, trained)
    return guarded, not_run | guarded.refused


def dataset_labels() -> DatasetLabels:
    """Return the names of data sets for people."""
    return DatasetLabels({name: dataset.label for name, dataset in DATASETS.items()})


def list_features(state: ExperimentState, windows: Windows) -> list[FeatureFile]:
    """Return the files of features that are compared: floors, then finished runs."""
    settings = state.settings
    normalise = settings.store.normalise
    seeds = settings.experiment.seeds or (settings.training.seed,)
    floors = [FeatureSource("random", normalise, seed=s, settings=settings.encoder) for s in seeds]
    floors.append(FeatureSource(RR_FLOOR, normalise))
    if settings.experiment.classical:
        floors.append(FeatureSource("classical", normalise))
    if settings.experiment.shipped:
        floors.append(FeatureSource.of_shipped())
    files = list(floor_files(settings.store.root, floors, windows, state.snapshot_id))
    followed = _first_of_methods(state.finished)
    for finished in state.finished:
        every_step = settings.experiment.evolution and finished in followed
        files += run_files(finished, windows, every_step=every_step)
    return files


def wanted_answers(
    state: ExperimentState, files: Sequence[FeatureFile], plans: Mapping[str, Plan]
) -> list[AnswerRequest]:
    """Return all answers that the evaluation needs."""
    return requests(
        files,
        plans,
        trials=state.experiment.trials(),
        reference=state.settings.experiment.reference,
        probes=state.settings.benchmarks.probes,
    )


def _first_of_methods(finished: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Return each method's first run, whose course over the steps is followed."""
    first: dict[str, FinishedRun] = {}
    for each in finished:
        if each.trained.role == "method":
            first.setdefault(each.trained.name, each)
    return list(first.values())


@_TASK
def embed(context: StageContext) -> None:
    """Compute the features that are not there yet."""
    settings, state = context.state.settings, context.state
    missing = files_to_embed(context.files, context.requests, context.plans)
    total = len(missing) * len(context.windows)
    with StageProgress("embedding windows", total, key="embedding-progress") as progress:
        fill_files(
            WindowSource(settings.store.root, state.snapshot_id),
            missing,
            context.windows,
            client=context.client,
            device=choose_device(settings.execution.device),
            advance=progress.advance,
        )


@_TASK
def run_benchmarks(context: StageContext) -> AnswersByKey:
    """Fit every probe on every fold of every benchmark, and return the answers."""
    total = sum(request.n_fits(context.plans) for request in context.requests)
    with StageProgress("benchmarks: folds", total, key="benchmark-progress") as progress:
        return run_folds(context.requests, context.plans, context.client, progress.advance)


def show_accuracies(records: Sequence[BenchmarkRecord]) -> None:
    """Leave the accuracies in Prefect's pages."""
    leave_table(
        [dict(row) for row in accuracy_table(records)],
        key="benchmark-accuracies",
        description="Accuracy of every representation in every benchmark.",
    )


def synthetic_datasets(index: DuckDBPyConnection) -> tuple[str, ...]:
    """Return the data sets of a snapshot that `deaps synth` made."""
    rows = index.execute("SELECT dataset FROM datasets WHERE synthetic ORDER BY dataset").fetchall()
    return tuple(dataset for (dataset,) in rows)


def report_title(settings: Settings, labels: DatasetLabels) -> str:
    """Return the report's title, which names the data sets and parts that were trained on."""
    parts = [DataPart.parse(name).label(labels) for name in settings.sampling.datasets]
    return f"Self-supervised ECG representations, trained on {', '.join(parts) or 'all data sets'}"
