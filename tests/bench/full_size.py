"""One encoder evaluated on a synthetic MIT-AFIB of full size: 23 people of 10 h each."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from deaps.benchmarks.afib_leave_one_out import AfibLeaveOneOut
from deaps.probing.answers import requests
from deaps.probing.examples import Fold
from deaps.probing.feature_source import FeatureSource
from deaps.probing.features import read_features
from deaps.probing.plan import Plan, plan_benchmark
from deaps.probing.representations import FeatureFile, floor_files
from flows.config import Settings
from flows.evaluate import evaluation_workers
from flows.experiment.evaluation_inputs import dataset_labels
from flows.experiment.feature_jobs import WindowSource, fill_files
from flows.experiment.fold_jobs import run_folds
from flows.ingest.refresh import refresh_store
from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from storage.schema import WINDOW_SAMPLES
from storage.snapshot import open_index, read_snapshot
from tests.bench.classification import SAME, fit_predict, plain_fit_predict, timed
from tests.bench.figure import Figure
from tests.flows.inline import settings_for

PEOPLE, HOURS = 23, 10.0
"""MIT-AFIB at full size: some 82,000 windows."""
PLAIN_FOLDS = 2


def full_size(folder: Path, *, people: int = PEOPLE, hours: float = HOURS) -> list[Figure]:
    """Return how much faster the evaluation's folds are than scikit-learn's SVC, and how equal.

    The recordings are synthetic; they are preprocessed and embedded by the shipped encoder as in
    any evaluation. The first figure is of the folds alone; what it is with the time of embedding
    added to both ways stands beside it in bench.json. Ours does all folds as jobs for workers, one
    a core. The plain way does two folds in this process, on the arrays in memory; all have about
    the same size, so the rest is theirs again. The second figure is the share of these two folds'
    answers that are equal.
    """
    settings = preprocessed(folder, people, hours)
    with open_index(settings.store.root) as index:
        snapshot_id = read_snapshot(index).snapshot_id
        plan = plan_benchmark(AfibLeaveOneOut(), index, settings.benchmarks, dataset_labels())
    source = WindowSource(settings.store.root, snapshot_id)
    (file,) = floor_files(
        source.root, [FeatureSource.of_shipped()], plan.examples.windows, source.snapshot_id
    )
    embed_s, ours_s, ours = evaluated(settings, source, file, plan)
    plain_s, plain = plain_folds(plan, file)
    equal = np.concatenate([a == b for a, b in zip(ours, plain, strict=False)])
    windows = len(plan.examples)
    task = f"leave one of {people} people of {hours:g} h out ({windows:,} windows)"
    seen = {
        "ours_s": ours_s, "plain_s": plain_s, "embed_s": embed_s,
        "ratio_with_embedding": (embed_s + plain_s) / (embed_s + ours_s),
    }  # fmt: skip
    return [
        Figure(
            f"{task}, against plain scikit-learn (two folds, extrapolated)",
            plain_s / ours_s, "times as fast", 8.0, 12.0, seen=seen,
        ),
        Figure(
            f"{task}: answers equal to plain scikit-learn's, of two folds",
            100 * float(equal.mean()), "%", 100 * SAME, seen={"answers": len(equal)},
        ),
    ]  # fmt: skip


def preprocessed(folder: Path, people: int, hours: float) -> Settings:
    """Return the settings of a store that holds a synthetic MIT-AFIB."""
    DATASETS["afdb"].write(folder / "afdb", SynthSettings(afdb_records=people, afdb_hours=hours))
    settings = settings_for(folder / "store", "benchmarks.afib_loo=afdb", afdb=folder / "afdb")
    refresh_store(settings)
    return settings


def evaluated(
    settings: Settings, source: WindowSource, file: FeatureFile, plan: Plan
) -> tuple[float, float, list[NDArray[np.int8]]]:
    """Return the seconds of embedding, those of all folds, and the answers to each fold."""
    plans = {plan.benchmark.name: plan}
    (wanted,) = requests([file], plans, trials=set(), reference="", probes=["svc"])[:1]
    with evaluation_workers(settings) as client:
        client.run(load_libraries)
        started = time.perf_counter()
        fill_files(source, [file], plan.examples.windows, client=client, device=torch.device("cpu"))
        embedded = time.perf_counter()
        (answers,) = run_folds([wanted], plans, client).values()
        ended = time.perf_counter()
    return embedded - started, ended - embedded, [fold.labels for fold in answers]


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
