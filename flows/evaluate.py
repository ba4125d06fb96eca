"""The evaluation stage: features of every representation, every benchmark, one document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
from deaps.report.figure_data import FigureDataMaker
from deaps.report.training import gradual_uses
from flows.config import Settings
from flows.experiment.inputs import EvaluationInputs, dataset_labels, read_inputs
from flows.experiment.jobs import run_folds
from flows.experiment.provenance import Stopwatch, provenance
from flows.experiment.state import (
    ExperimentState,
    load_state,
    save_evaluation,
    with_change,
    write_page,
)
from flows.features import fill_features
from flows.monitoring.event_log import EventLog, log_publication
from flows.report import link_report
from flows.runtime.dask_pool import worker_pool
from flows.runtime.prefect_glue import publish_table, stage_task, unmapped
from flows.runtime.progress import StageProgress
from flows.runtime.run_context import RunContext
from storage.publish import republish
from storage.snapshot import open_index
from storage.window_store import WindowStore, raise_open_file_limit

if TYPE_CHECKING:
    from distributed import Client
    from duckdb import DuckDBPyConnection

_TASK = stage_task()


def evaluate(context: RunContext) -> Path:
    """Run every benchmark on every finished run of the experiment; return the document's folder."""
    state = load_state(context.settings)
    state.require_runs()
    if not state.evaluated:
        evaluation = measure(state, context)
        save_evaluation(with_change(evaluation, context.settings.store.root), state.folder)
        log = EventLog(context.settings.store.root)
        log_publication(log, republish(context.settings.store.root), stage="evaluate")
    return state.folder


def evaluate_and_report(context: RunContext) -> Path:
    """Run every benchmark on every finished run, and write the report; return its page."""
    page = write_page(evaluate(context))
    link_report(context.settings, page)
    return page


def answer_blindly(context: RunContext) -> None:
    """Fit every probe on finished runs and keep the answers.

    No figure is computed, so nobody can stop or change an experiment because of one. Baselines wait
    for the evaluation: whoever makes it can compute them, without any training.
    """
    state = load_state(context.settings)
    state.require_runs()
    with open_index(context.settings.store.root) as index, evaluation_workers(context) as client:
        inputs = read_inputs(state, index, dataset_labels())
        answer(inputs.of_runs(), client, Stopwatch())


@contextmanager
def evaluation_workers(context: RunContext) -> Iterator[Client]:
    """Yield workers that can read windows of all recordings."""
    raise_open_file_limit()  # the workers inherit it
    with worker_pool(context.settings.execution, context.workers) as client:
        yield client


def measure(state: ExperimentState, context: RunContext) -> Evaluation:
    """Return the evaluation: features, folds, figures."""
    store, watch = context.settings.store.root, Stopwatch(context.stages)
    command = context.command or context.parameters.command_line("evaluate")
    log = EventLog(store)
    with open_index(store) as index, evaluation_workers(context) as client:
        inputs = read_inputs(state, index, dataset_labels())
        answers = answer(inputs, client, watch)
        with watch.stage("figures"), log.stage("figures"):
            evaluation = figures(inputs, index, answers)
            publish_accuracies(evaluation.benchmarks)
        made = _provenance(inputs, index, watch.stages, command)
        return evaluation.model_copy(update={"provenance": made})


def answer(inputs: EvaluationInputs, client: Client, watch: Stopwatch) -> AnswersByKey:
    """Return the answers of every probe: features first, then folds."""
    log = EventLog(inputs.state.settings.store.root)
    with watch.stage("embed"), log.stage("embed"):
        embed(unmapped(inputs), unmapped(client))
    with watch.stage("benchmarks"), log.stage("benchmarks"):
        return run_benchmarks(unmapped(inputs), unmapped(client))


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
    figure_data = FigureDataMaker(
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
        pca=figure_data.pca,
        evolution=figure_data.evolution,
        training=figure_data.training,
        gradual=tuple(gradual_uses(state.finished)),
        quality=figure_data.quality,
        strips=figure_data.strips,
        quality_examples=figure_data.quality_examples,
        map=figure_data.map,
        nights=figure_data.nights,
        quality_grades=figure_data.quality_grades,
        absent=figure_data.absent + state.missing,
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
    fill_features(settings, state.snapshot_id, inputs.missing_files(), inputs.windows, client)


@_TASK
def run_benchmarks(inputs: EvaluationInputs, client: Client) -> AnswersByKey:
    """Fit every probe on every fold of every benchmark, and return the answers."""
    total = sum(request.n_fits(inputs.plans) for request in inputs.requests)
    with StageProgress("benchmarks: folds", total, key="benchmark-progress") as progress:
        return run_folds(inputs.requests, inputs.plans, client, progress.advance)


def publish_accuracies(records: Sequence[BenchmarkRecord]) -> None:
    """Publish the accuracies in Prefect's pages."""
    publish_table(
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
