"""The evaluation stage: features of every representation, every benchmark, one document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prefect import flow

from deaps.config import DataPart
from deaps.evaluation.answers import AnswersByKey
from deaps.evaluation.document import BenchmarkRecord, DatasetLabels, Evaluation, Provenance, Stage
from deaps.evaluation.outcomes import (
    Scorer,
    accuracy_table,
    benchmark_records,
    ranks,
    trained_ablations,
    trial_records,
    with_figures,
)
from deaps.evaluation.representations import first_seeds, representation_records, with_joined
from deaps.report.figure_data import ExhibitMaker
from deaps.report.training import gradual_uses
from deaps.training.device import choose_device
from flows.config import Settings
from flows.experiment.inputs import EvaluationInputs, dataset_labels, read_inputs
from flows.experiment.jobs import WindowSource, fill_files, run_folds
from flows.experiment.provenance import Stopwatch, provenance
from flows.experiment.state import (
    ExperimentState,
    keep_evaluation,
    load_state,
    with_change,
    write_page,
)
from flows.monitoring.event_log import EventLog, log_publication
from flows.report import link_report
from flows.runtime.dask_pool import worker_pool
from flows.runtime.flow_start import command_line, is_stage, stages_before, start_flow
from flows.runtime.orchestration import opaque, stage_task
from flows.runtime.progress import StageProgress, leave_table
from storage.publish import republish
from storage.snapshot import open_index
from storage.window_store import WindowStore, raise_open_file_limit

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

    No figure is computed, so nobody can stop or change an experiment because of one. Baselines wait
    for the evaluation: whoever makes it can compute them, without any training.
    """
    state = load_state(settings)
    state.require_runs()
    with open_index(settings.store.root) as index, evaluation_workers(settings) as client:
        inputs = read_inputs(state, index, dataset_labels())
        answer(inputs.of_runs(), client, Stopwatch())
    return settings.store.root


@contextmanager
def evaluation_workers(settings: Settings) -> Iterator[Client]:
    """Yield workers that can read windows of all recordings."""
    raise_open_file_limit()  # the workers inherit it
    with worker_pool(settings.execution) as client:
        yield client


def measure(state: ExperimentState, watch: Stopwatch, command: str) -> Evaluation:
    """Return the evaluation: features, folds, exhibits."""
    settings = state.settings
    log = EventLog(settings.store.root)
    with open_index(settings.store.root) as index, evaluation_workers(settings) as client:
        inputs = read_inputs(state, index, dataset_labels())
        answers = answer(inputs, client, watch)
        with watch.stage("figures"), log.stage("figures"):
            evaluation = figures(inputs, index, answers)
            show_accuracies(evaluation.benchmarks)
        made = _provenance(inputs, index, watch.stages, command)
        return evaluation.model_copy(update={"provenance": made})


def answer(inputs: EvaluationInputs, client: Client, watch: Stopwatch) -> AnswersByKey:
    """Return the answers of every probe: features first, then folds."""
    log = EventLog(inputs.state.settings.store.root)
    with watch.stage("embed"), log.stage("embed"):
        embed(opaque(inputs), opaque(client))
    with watch.stage("benchmarks"), log.stage("benchmarks"):
        return run_benchmarks(opaque(inputs), opaque(client))


def figures(
    inputs: EvaluationInputs, index: DuckDBPyConnection, answers: AnswersByKey
) -> Evaluation:
    """Return the evaluation of the probes' answers, as if it had taken no time."""
    state, settings, plans = inputs.state, inputs.state.settings, inputs.plans
    experiment, drawn = state.experiment, first_seeds(inputs.files)
    labels = inputs.labels
    described = benchmark_records(
        settings.benchmarks, plans, inputs.not_run, labels, inputs.guarded.seen
    )
    scorer = Scorer(experiment, settings.experiment.reference, settings.benchmarks.probes)
    by_benchmark = scorer.figures(plans, answers)
    benchmarks = with_figures(described, by_benchmark, scorer, answers)
    few_labels = scorer.few_labels(plans, answers)
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
        scorer.figures_by_step(plans, answers, {f.representation: f.seed for f in drawn}),
    )
    trained = representation_records(experiment, state.finished, inputs.files)
    return Evaluation(
        id=state.name,
        title=report_title(settings, labels),
        datasets=labels,
        synthetic=synthetic_datasets(index),
        representations=with_joined(trained, scorer.reference, benchmarks),
        benchmarks=benchmarks,
        few_labels=few_labels.curves,
        few_label_comparisons=few_labels.comparisons,
        ranks=ranks(by_benchmark, experiment.methods()),
        ablations=trained_ablations(experiment.ablations, state.first_runs),
        trials=trial_records(experiment, benchmarks),
        pca=exhibits.pca,
        evolution=exhibits.evolution,
        training=exhibits.training,
        gradual=tuple(gradual_uses(state.finished)),
        quality=exhibits.quality,
        strips=exhibits.strips,
        quality_examples=exhibits.quality_examples,
        map=exhibits.map,
        nights=exhibits.nights,
        quality_grades=exhibits.quality_grades,
        absent=exhibits.absent + state.missing,
        provenance=_provenance(inputs, index, (), ""),
    )


def _provenance(
    inputs: EvaluationInputs, index: DuckDBPyConnection, stages: Sequence[Stage], command: str
) -> Provenance:
    settings = inputs.state.settings
    return provenance(settings, index, inputs.files, inputs.labels, stages, command)


@_TASK
def embed(inputs: EvaluationInputs, client: Client) -> None:
    """Compute the features that are not there yet."""
    settings, state = inputs.state.settings, inputs.state
    missing = inputs.missing_files()
    total = len(missing) * len(inputs.windows)
    with StageProgress("embedding windows", total, key="embedding-progress") as progress:
        fill_files(
            WindowSource(settings.store.root, state.snapshot_id),
            missing,
            inputs.windows,
            client=client,
            device=choose_device(settings.execution.device),
            advance=progress.advance,
        )


@_TASK
def run_benchmarks(inputs: EvaluationInputs, client: Client) -> AnswersByKey:
    """Fit every probe on every fold of every benchmark, and return the answers."""
    total = sum(request.n_fits(inputs.plans) for request in inputs.requests)
    with StageProgress("benchmarks: folds", total, key="benchmark-progress") as progress:
        return run_folds(inputs.requests, inputs.plans, client, progress.advance)


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
