"""What a benchmark is, and which there are: the paper's, inner folds, other packages'."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import ClassVar

import duckdb

from deaps.config import BenchmarkSettings
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import Examples, Fold
from deaps.method_registry import Registry, import_object
from storage.errors import DeapsError


class Benchmark(ABC):
    """A classification of frozen features: one file each, the same for every representation."""

    name: ClassVar[str]
    title: ClassVar[str]
    classes: ClassVar[tuple[str, ...]]
    positive: ClassVar[str | None] = None
    """Class of which sensitivity and specificity are reported."""
    reported: ClassVar[bool] = True
    """False for the inner folds that settings are chosen by."""
    followed: ClassVar[bool] = False
    """Whether earlier encoders of a training are tested, too, to follow it over the steps."""
    metrics: ClassVar[tuple[str, ...]] = ()
    """Metrics that it reports in addition to those of every benchmark, such as ``kappa``."""
    seen_in_training: ClassVar[bool] = False
    """Whether people that an encoder was trained on may be tested; the report then says so."""
    few_labels: ClassVar[bool] = False
    """Whether curves show how figures grow with the number of annotated people; its examples have
    a training and a test side."""
    leak: ClassVar[str | None] = None
    """What its figures know that they should not, in a sentence; such a benchmark ranks nobody."""
    stand_in: ClassVar[str | None] = None
    """Name of the benchmark that is followed where this one cannot be run."""

    def tests(self, *, trial: bool) -> bool:
        """Return whether a training is tested on it: trials are on the inner folds alone."""
        return not (trial and self.reported)

    @abstractmethod
    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data sets it needs."""

    @abstractmethod
    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what; ``labels`` are the data sets'."""

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return "every window that passes the gate"

    @abstractmethod
    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the examples, and what was left out, a sentence each."""

    @abstractmethod
    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return the splits, not yet guarded."""


_PAPER = (
    "deaps.benchmarks.afib:AfibTransfer",
    "deaps.benchmarks.afib:AfibLeaveOneOut",
    "deaps.benchmarks.afib:AfibLeaveOneOutFitted",
    "deaps.benchmarks.gender:Gender",
    "deaps.benchmarks.challenge:Challenge2017",
    "deaps.benchmarks.challenge:Challenge2017WithCopies",
    "deaps.benchmarks.tuning_folds:InnerFolds",
    "deaps.benchmarks.tuning_folds:InnerFewLabels",
    "deaps.benchmarks.tuning_folds:InnerAfib",
)

_SLEEP = (
    "deaps.benchmarks.sleep:SleepStage",
    "deaps.benchmarks.sleep:SleepStageOfThree",
    "deaps.benchmarks.sleep:Apnea",
)

OTHER_BENCHMARKS: Registry[Benchmark] = Registry("benchmark", "deaps.benchmarks")
"""Benchmarks of other packages; they join through the entry-point group ``deaps.benchmarks``."""


def register_benchmark(benchmark: Benchmark) -> Benchmark:
    """Add a benchmark, to be run on every representation, and return it.

    Raises
    ------
    DeapsError
        If its name is taken.
    """
    if benchmark.name in paper_benchmarks() | sleep_benchmarks():
        raise DeapsError(f"there is a benchmark {benchmark.name!r} already; choose another name")
    return OTHER_BENCHMARKS.add(benchmark.name, benchmark)


def all_benchmarks() -> dict[str, Benchmark]:
    """Return all benchmarks by name, in the order of the report: paper's, sleep's, then others."""
    return paper_benchmarks() | sleep_benchmarks() | OTHER_BENCHMARKS.all()


@cache
def sleep_benchmarks() -> dict[str, Benchmark]:
    """Return the benchmarks on scored sleep by name."""
    return _made(_SLEEP)


@cache
def paper_benchmarks() -> dict[str, Benchmark]:
    """Return the paper's benchmarks, and the inner folds that settings are chosen by, by name."""
    return _made(_PAPER)


def _made(homes: tuple[str, ...]) -> dict[str, Benchmark]:
    made = (import_object(home)() for home in homes)
    return {benchmark.name: benchmark for benchmark in made}
