"""One encoder evaluated on a synthetic MIT-AFIB of full size: 23 people of 10 h each."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from deaps.benchmarks.afib import AfibLeaveOneOut
from deaps.evaluation.answers import requests
from deaps.evaluation.examples import Fold
from deaps.evaluation.features import FeatureSource, read_features, write_features
from deaps.evaluation.plan import Plan, plan_benchmark
from deaps.evaluation.probes import Answers
from deaps.evaluation.representations import FeatureFile, baseline_files
from flows.config import Settings
from flows.evaluate import evaluation_workers
from flows.experiment.inputs import dataset_labels
from flows.experiment.jobs import WindowSource, fill_files, run_folds
from flows.ingest.refresh import refresh_store
from flows.runtime.run_context import RunContext
from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from storage.schema import WINDOW_SAMPLES
from storage.snapshot import open_index, read_snapshot
from tests.bench.classification import SAME, fit_predict, hard_features, plain_fit_predict, timed
from tests.bench.figure import Figure
from tests.flows.inline import settings_for

if TYPE_CHECKING:
    from distributed import Client

PEOPLE, HOURS = 23, 10.0
"""MIT-AFIB at full size: some 82,000 windows."""
PLAIN_FOLDS = 2


def measure(folder: Path, *, people: int = PEOPLE, hours: float = HOURS) -> list[Figure]:
    """Return how much faster an evaluation's folds are than scikit-learn's SVC, and how equal.

    Recordings are synthetic and preprocessed; the shipped encoder embeds them as in any
    evaluation. It tells synthetic AFib from the rest almost without error, so that few windows
    become support vectors and scikit-learn is fast. Therefore the same windows are also given
    features that are made to be as hard as real ones.

    Ours does all folds as jobs for workers, one a core. The plain way does two folds in this
    process, on the arrays in memory; all have about the same size, so the rest is theirs again.
    """
    settings = preprocessed(folder, people, hours)
    with open_index(settings.store.root) as index:
        snapshot_id = read_snapshot(index).snapshot_id
        plan = plan_benchmark(AfibLeaveOneOut(), index, settings.benchmarks, dataset_labels())
    source = WindowSource(settings.store.root, snapshot_id)
    (embedded,) = baseline_files(
        source.root, [FeatureSource.of_shipped()], plan.examples.windows, source.snapshot_id
    )
    made = replace(embedded, path=embedded.path.with_name("made.parquet"))
    with evaluation_workers(RunContext(settings)) as client:
        client.run(load_libraries)
        started = time.perf_counter()
        fill_files(
            source, [embedded], plan.examples.windows, client=client, device=torch.device("cpu")
        )
        embed_s = time.perf_counter() - started
        write_features(made.path, plan.examples.windows, features_of(plan))
        ours = {file.path: answered(client, file, plan) for file in (embedded, made)}
    task = f"leave one of {people} people of {hours:g} h out ({len(plan.examples):,} windows)"
    return [
        *compared(f"{task}, made features as hard as real ones", plan, made, ours[made.path]),
        *compared(f"{task}, shipped encoder", plan, embedded, ours[embedded.path], embed_s=embed_s),
    ]


def features_of(plan: Plan) -> NDArray[np.float32]:
    """Return made features of a plan's windows."""
    subjects = np.unique(plan.examples.subjects, return_inverse=True)[1]
    return hard_features(np.random.default_rng(0), subjects, plan.examples.labels)


def answered(client: Client, file: FeatureFile, plan: Plan) -> tuple[float, list[Answers]]:
    """Return the seconds of all folds on the workers, and their answers."""
    plans = {plan.benchmark.name: plan}
    (wanted,) = requests([file], plans, trials=set(), reference="", probes=["svc"])[:1]
    started = time.perf_counter()
    (answers,) = run_folds([wanted], plans, client).values()
    return time.perf_counter() - started, answers


def compared(
    task: str, plan: Plan, file: FeatureFile, ours: tuple[float, list[Answers]], **seen: float
) -> tuple[Figure, Figure]:
    """Return the ratio of times, and the share of equal answers."""
    ours_s, answers = ours
    plain_s, plain = plain_folds(plan, file)
    equal = np.concatenate([a.labels == b for a, b in zip(answers, plain, strict=False)])
    return (
        Figure(
            f"{task}, against plain scikit-learn (two folds, extrapolated)",
            plain_s / ours_s, "times as fast", 8.0, 12.0,
            seen={"ours_s": ours_s, "plain_s": plain_s, **seen},
        ),
        Figure(
            f"{task}: answers equal to plain scikit-learn's, of two folds",
            100 * float(equal.mean()), "%", 100 * SAME, seen={"answers": len(equal)},
        ),
    )  # fmt: skip


def preprocessed(folder: Path, people: int, hours: float) -> Settings:
    """Return the settings of a store that holds a synthetic MIT-AFIB."""
    DATASETS["afdb"].write(folder / "afdb", SynthSettings(afdb_records=people, afdb_hours=hours))
    settings = settings_for(folder / "store", "benchmarks.afib_loo=afdb", afdb=folder / "afdb")
    refresh_store(settings)
    return settings


def load_libraries() -> None:
    """Fit and embed a little, so that nobody's time has the loading of libraries in it."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200, 8)).astype(np.float32)
    labels = (np.arange(200) % 2).astype(np.int8)
    plain_fit_predict(features, labels, features[:1])
    fit_predict(features, labels, features[:1])
    FeatureSource.of_shipped().features(np.zeros((1, WINDOW_SAMPLES), np.float32))


def plain_folds(plan: Plan, file: FeatureFile) -> tuple[float, list[NDArray[np.int8]]]:
    """Return the seconds that plain scikit-learn would take for all folds, and some answers."""
    load_libraries()
    features = read_features(file.path).of(plan.examples.windows)
    done = [_plain_fold(plan, fold, features) for fold in plan.folds[:PLAIN_FOLDS]]
    plain_s = sum(seconds for _, seconds in done) * len(plan.folds) / len(done)
    return plain_s, [labels for labels, _ in done]


def _plain_fold(
    plan: Plan, fold: Fold, features: NDArray[np.float32]
) -> tuple[NDArray[np.int8], float]:
    tested = np.isin(np.arange(len(plan.examples)), fold.test)
    return timed(plain_fit_predict, (tested, features, plan.examples.labels))
