"""Benchmarks on frozen features: the classifier over folds, and embedding a data set."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from deaps.embed import embed_dataset, embed_windows
from deaps.evaluation.probes import PROBES
from deaps.models.encoder import Encoder
from storage import WindowStore
from tests.bench.figure import Figure
from tests.storage.made_store import make_row, publish_rows, write_recording

SUBJECTS, WINDOWS, FEATURES = 23, 20_000, 128
LATENT = 40
PATIENCE_S = 300
"""Plain folds are begun for so long; the same folds count for ours."""
SAME = 0.999
"""Least share of equal predictions."""

RECORDINGS, RECORDING_WINDOWS = 10, 400
ROUNDS = 4

Fold = tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.int8]]


def measure(folder: Path) -> list[Figure]:
    """Return the classifier's speed and the embedding's, as ratios to the plain ways."""
    return [leave_one_out(), embedding(folder)]


def leave_one_out() -> Figure:
    """Return how much faster the folds are than with scikit-learn's own SVC.

    Fold by fold in turn, because other programs share the machine.
    """
    subjects, features, labels = made_representations()
    ours_s = plain_s = 0.0
    equal, right, tested, folds = 0, 0, 0, 0
    # A first fit loads libraries; neither way should pay for that.
    fit_predict(features[:200], labels[:200], features[:1])
    while folds < SUBJECTS and plain_s < PATIENCE_S:
        fold = subjects == folds, features, labels
        ours, seconds = timed(fit_predict, fold)
        plain, plain_seconds = timed(plain_fit_predict, fold)
        ours_s, plain_s, folds = ours_s + seconds, plain_s + plain_seconds, folds + 1
        equal += int(np.sum(ours == plain))
        right += int(np.sum(ours == labels[fold[0]]))
        tested += len(ours)
    if equal < SAME * tested:
        raise RuntimeError(f"{equal} of {tested} predictions are equal; expected {SAME:.1%}")
    counted = "" if folds == SUBJECTS else f", {folds} of the folds"
    seen = {
        "ours_s": ours_s, "plain_s": plain_s, "folds": folds,
        "equal_share": equal / tested, "accuracy": right / tested,
    }  # fmt: skip
    return Figure(
        "leave-one-subject-out SVC, 23 subjects, 20,000 windows of 128 features, "
        f"against plain scikit-learn{counted}",
        plain_s / ours_s, "times faster", 5, seen=seen,
    )  # fmt: skip


def made_representations() -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int8]]:
    """Return subjects, features and labels that are about as hard as real ones."""
    rng = np.random.default_rng(0)
    subjects = np.sort(rng.integers(0, SUBJECTS, WINDOWS))
    labels = (rng.random(WINDOWS) < rng.uniform(0.1, 0.9, SUBJECTS)[subjects]).astype(np.int8)
    return subjects, hard_features(rng, subjects, labels), labels


def hard_features(
    rng: np.random.Generator, subjects: NDArray[np.int64], labels: NDArray[np.int8]
) -> NDArray[np.float32]:
    """Return features, (n, 128), of subjects' numbers and labels, about as hard as real ones.

    A few directions carry most of the variance, as in trained encoders; each subject has a
    place of its own, and its own idea of where AFib lies. Three of four windows of a subject
    that was never seen are told right, and two of five windows become support vectors.
    """
    n, people = len(subjects), subjects.max() + 1
    scales = np.linspace(1, 0.1, LATENT)
    places = 1.2 * scales * rng.standard_normal((people, LATENT))
    shift = 0.3 * rng.standard_normal(LATENT) + 0.2 * rng.standard_normal((people, LATENT))
    latent = places[subjects] + labels[:, np.newaxis] * (scales * shift)[subjects]
    latent += scales * rng.standard_normal((n, LATENT))
    features = latent @ rng.standard_normal((LATENT, FEATURES))
    features += 0.3 * rng.standard_normal((n, FEATURES))
    return features.astype(np.float32)


def timed(way: Callable[..., NDArray[np.int8]], fold: Fold) -> tuple[NDArray[np.int8], float]:
    """Return the predictions of a fold, and the seconds that they took."""
    tested, features, labels = fold
    started = time.perf_counter()
    found = way(features[~tested], labels[~tested], features[tested])
    return found, time.perf_counter() - started


def fit_predict(
    train: NDArray[np.float32], labels: NDArray[np.int8], test: NDArray[np.float32]
) -> NDArray[np.int8]:
    """Return predictions as the benchmarks make them."""
    return PROBES["svc"].fit_predict(train, labels, test, 2).labels


def plain_fit_predict(
    train: NDArray[np.float32], labels: NDArray[np.int8], test: NDArray[np.float32]
) -> NDArray[np.int8]:
    """Return predictions as anyone would write it."""
    classifier = make_pipeline(StandardScaler(), SVC(C=1.0, gamma="scale"))
    return np.asarray(classifier.fit(train, labels).predict(test), np.int8)


def embedding(folder: Path) -> Figure:
    """Return windows a second from store to Parquet, against windows that lie in memory.

    Rounds alternate and the fastest of each counts.
    """
    store = folder / "store"
    publish_noise(store)
    torch.manual_seed(0)
    encoder = Encoder()
    everything = np.concatenate([*map(WindowStore(store).read_recording, range(1, RECORDINGS + 1))])
    seconds = {"store_s": float("inf"), "memory_s": float("inf")}
    for _ in range(ROUNDS):
        started = time.perf_counter()
        n = embed_dataset(store, "ds", encoder, folder / "embedded.parquet").n_windows
        between = time.perf_counter()
        embed_windows(encoder, everything)
        ended = time.perf_counter()
        seconds["store_s"] = min(seconds["store_s"], between - started)
        seconds["memory_s"] = min(seconds["memory_s"], ended - between)
    if n != len(everything):
        raise RuntimeError(f"{n} of {len(everything)} windows were embedded")
    return Figure(
        "embedding a data set, windows a second, against the forward pass on data in memory",
        seconds["memory_s"] / seconds["store_s"], "of it", 0.9,
        seen=seconds | {"windows": n},
    )  # fmt: skip


def publish_noise(store: Path) -> None:
    """Publish recordings whose every window passes the gate."""
    open_gate = np.zeros(RECORDING_WINDOWS, bool)
    rows = [
        write_recording(store, make_row(f"r{k}"), RECORDING_WINDOWS, seed=k, clipped=open_gate)
        for k in range(RECORDINGS)
    ]
    publish_rows(store, rows)
