"""A benchmark made ready on a snapshot: guarded splits, and the facts its figures rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from deaps.benchmarks.interface import Benchmark, all_benchmarks
from deaps.config import BenchmarkSettings, DataPart, require_parts
from deaps.evaluation import document
from deaps.evaluation.examples import Examples, Fold, NotRunError, Windows, guarded, with_both_sides


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark with its examples and splits."""

    benchmark: Benchmark
    settings: BenchmarkSettings
    examples: Examples
    folds: tuple[Fold, ...]
    facts: document.BenchmarkFacts
    label_draws: tuple[LabelDraw, ...] = ()
    """Draws of few annotated people, for the few-label curves."""

    @property
    def tested(self) -> NDArray[np.int64]:
        """Examples that are tested in some fold."""
        return np.unique(np.concatenate([fold.test for fold in self.folds]))


def configured_benchmarks(settings: BenchmarkSettings) -> list[Benchmark]:
    """Return the benchmarks that the settings give data sets to, in the order of the report."""
    return [each for each in all_benchmarks().values() if each.datasets(settings)]


def require_benchmark_parts(index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings) -> None:
    """Check the parts of data sets that benchmarks name.

    A data set that is not there at all is no mistake: its benchmarks are not run.

    Raises
    ------
    DeapsError
        If a data set is there without the part; the message names the key and the parts there are.
    """
    rows = index.execute("SELECT DISTINCT dataset FROM recordings").fetchall()
    present = {dataset for (dataset,) in rows}
    for benchmark in configured_benchmarks(settings):
        for source in benchmark.datasets(settings):
            if DataPart.parse(source).dataset in present:
                require_parts(index, [source], setting=_named_by(source, benchmark, settings))


def _named_by(source: str, benchmark: Benchmark, settings: BenchmarkSettings) -> str:
    """Return the key that gives a benchmark its data set; another package's has none of ours."""
    keys = (f"benchmarks.{key}" for key, value in settings if value == source)
    return next(keys, f"benchmark {benchmark.name}")


def plan_benchmarks(
    index: duckdb.DuckDBPyConnection,
    settings: BenchmarkSettings,
    roots: Mapping[str, Path],
    labels: document.DatasetLabels,
) -> tuple[dict[str, Plan], dict[str, str]]:
    """Return the benchmarks that can be run on a snapshot, and why the others cannot.

    ``roots`` says where each configured data set lies, ``labels`` its name for people.

    Raises
    ------
    DeapsError
        If a data set does not have the part that a benchmark names.
    """
    require_benchmark_parts(index, settings)
    plans, not_run = {}, {}
    for benchmark in configured_benchmarks(settings):
        try:
            plans[benchmark.name] = plan_benchmark(benchmark, index, settings, labels)
        except NotRunError as error:
            not_run[benchmark.name] = _missing_data(benchmark, settings, roots, labels) or str(
                error
            )
    return plans, not_run


def _missing_data(
    benchmark: Benchmark,
    settings: BenchmarkSettings,
    roots: Mapping[str, Path],
    labels: document.DatasetLabels,
) -> str | None:
    """Return which data set of the benchmark is missing, and where it was expected."""
    for source in benchmark.datasets(settings):
        dataset = DataPart.parse(source).dataset
        if dataset not in roots:
            return f"{labels[dataset]} was not available: data.{dataset} is not set"
        if not roots[dataset].exists():
            return f"{labels[dataset]} was not available: no data at {roots[dataset]}"
    return None


def followed_benchmarks(plans: Mapping[str, Plan]) -> list[str]:
    """Return the benchmarks that are run at every encoder file."""
    followed = [benchmark for benchmark in all_benchmarks().values() if benchmark.followed]
    wanted = [b.name if b.name in plans else b.stand_in for b in followed]
    return [name for name in dict.fromkeys(wanted) if name is not None and name in plans]


def plan_benchmark(
    benchmark: Benchmark,
    index: duckdb.DuckDBPyConnection,
    settings: BenchmarkSettings,
    labels: document.DatasetLabels,
) -> Plan:
    """Return the benchmark ready to be run on the snapshot of an open index.

    Raises
    ------
    NotRunError
        If the snapshot does not hold what it needs.
    DeapsError
        If a split would let the classifier know what it is tested on.
    """
    examples, removed = benchmark.examples(index, settings)
    folds = _checked(benchmark, examples, settings)
    facts = document.BenchmarkFacts(
        examples=_by_class(benchmark, examples.labels),
        windows=_by_class(benchmark, examples.labels[examples.owner]),
        tested=_by_class(benchmark, examples.labels[_tested(folds)]),
        subjects=len(np.unique(examples.subjects)),
        folds=len(folds),
        majority=majority_accuracy(examples, folds),
        quality_rule=benchmark.quality_rule(settings),
        label_version=_label_versions(index, benchmark.datasets(settings), labels),
        seed=settings.seed,
        removed=removed,
    )
    return Plan(benchmark, settings, examples, folds, facts, _draws(benchmark, examples, settings))


def _checked(
    benchmark: Benchmark, examples: Examples, settings: BenchmarkSettings
) -> tuple[Fold, ...]:
    """Return the folds; only a benchmark that declares its leak may have one."""
    folds = benchmark.folds(examples, settings)
    return with_both_sides(folds) if benchmark.leak else guarded(examples, folds)


def _draws(
    benchmark: Benchmark, examples: Examples, settings: BenchmarkSettings
) -> tuple[LabelDraw, ...]:
    if not benchmark.few_labels or not settings.few_label_draws:
        return ()
    return nested_draws(examples, repeats=settings.few_label_draws, seed=settings.seed)


def majority_accuracy(examples: Examples, folds: Sequence[Fold]) -> float:
    """Return the accuracy of always answering the most frequent class of the training side."""
    shares = [
        np.mean(examples.labels[fold.test] == majority_class(examples, fold)) for fold in folds
    ]
    return float(np.mean(shares))


def majority_class(examples: Examples, fold: Fold) -> int:
    """Return the most frequent class of a fold's training side."""
    return int(np.bincount(examples.labels[fold.train]).argmax())


def windows_of(plans: Iterable[Plan]) -> Windows:
    """Return every window behind some benchmarks once, by recording and row."""
    parts = [plan.examples.windows for plan in plans]
    if not parts:
        return Windows(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint64))
    every = Windows.joined(parts)
    place = (every.recording_id.astype(np.int64) << 32) | every.row
    return every.at(np.unique(place, return_index=True)[1])


def _tested(folds: Sequence[Fold]) -> NDArray[np.int64]:
    return np.unique(np.concatenate([fold.test for fold in folds]))


def _by_class(benchmark: Benchmark, labels: NDArray[np.int8]) -> dict[str, int]:
    counts = np.bincount(labels, minlength=len(benchmark.classes))
    return dict(zip(benchmark.classes, counts.tolist(), strict=True))


def _label_versions(
    index: duckdb.DuckDBPyConnection, datasets: tuple[str, ...], labels: document.DatasetLabels
) -> str | None:
    sql = "SELECT dataset, label_source FROM datasets WHERE list_contains($names, dataset)"
    names = [DataPart.parse(name).dataset for name in datasets]
    sources = index.execute(sql, {"names": names}).fetchall()
    texts = [f"{labels[dataset]}: {source}" for dataset, source in sorted(sources) if source]
    return "; ".join(texts) or None


@dataclass(frozen=True, slots=True)
class LabelDraw:
    """Some people whose recordings are annotated."""

    repeat: int
    people: tuple[str, ...]
    """In the order drawn."""
    fold: Fold
    """Fitted on their examples, tested on all test people's."""

    @property
    def n_people(self) -> int:
        """How many they are."""
        return len(self.people)


def nested_draws(examples: Examples, *, repeats: int = 10, seed: int = 0) -> tuple[LabelDraw, ...]:
    """Return draws of 1, 2, 4, ... and all training people, several times over.

    Within a repeat each draw holds the smaller ones. Every draw has all classes of the training
    side: the first people drawn are those who add most classes that are not there yet, at random
    among equals, the rest are at random. Numbers of people too small for all classes are left
    out (a Challenge recording has one of three classes, so its curve begins with 4). All
    people together are one draw, not several alike. The same seed gives the same draws for
    every representation.

    Raises
    ------
    NotRunError
        If there are no training or no test people.
    """
    train, test = (np.flatnonzero(examples.sides == side) for side in ("train", "test"))
    if not len(train) or not len(test):
        raise NotRunError("few-label curves need training and test people; one side is empty")
    subjects, labels = examples.subjects[train], examples.labels[train]
    orders = [_Order.draw(subjects, labels, seed, repeat) for repeat in range(repeats)]
    fewest = max(order.fewest for order in orders)
    draws = []
    for n in (n for n in _sizes(len(orders[0].people)) if n >= fewest):
        last = n == len(orders[0].people)
        for repeat, order in enumerate(orders[:1] if last else orders):
            people = order.people[:n]
            fold = Fold(f"{n} people, draw {repeat + 1}", train[np.isin(subjects, people)], test)
            draws.append(LabelDraw(repeat, tuple(people.tolist()), fold))
    return tuple(draws)


@dataclass(frozen=True, slots=True)
class _Order:
    """People in the order in which they are drawn."""

    people: NDArray[np.str_]
    fewest: int
    """How many of them have all classes together."""

    @classmethod
    def draw(cls, subjects: NDArray[np.str_], labels: ArrayLike, seed: int, repeat: int) -> _Order:
        people, place = np.unique(subjects, return_inverse=True)
        has = np.zeros((len(people), int(np.max(labels)) + 1), bool)
        has[place, np.asarray(labels)] = True
        rng = np.random.Generator(np.random.Philox(key=[seed, repeat]))
        left = rng.permutation(len(people)).tolist()
        first: list[int] = []
        missing = has.any(axis=0)
        while missing.any():
            best = max(left, key=lambda person: int((has[person] & missing).sum()))
            left.remove(best)
            first.append(best)
            missing &= ~has[best]
        return cls(people[first + left], len(first))


def _sizes(n_people: int) -> list[int]:
    """Return 1, 2, 4, ... below n, and n."""
    doubled = [2**k for k in range(n_people.bit_length()) if 2**k < n_people]
    return [*doubled, n_people]
