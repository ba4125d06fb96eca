"""Benchmarks by name: the paper's, the inner folds, and those of other packages.

The classes are imported when they are asked for: scikit-learn takes its time.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deaps.named_items import Registry, import_object
from storage.errors import DeapsError

if TYPE_CHECKING:
    from deaps.benchmarks.interface import Benchmark

_PAPER = (
    "deaps.benchmarks.afib_transfer:AfibTransfer",
    "deaps.benchmarks.afib_leave_one_out:AfibLeaveOneOut",
    "deaps.benchmarks.afib_leave_one_out:AfibLeaveOneOutFitted",
    "deaps.benchmarks.gender:Gender",
    "deaps.benchmarks.challenge:Challenge2017",
    "deaps.benchmarks.challenge:Challenge2017WithCopies",
    "deaps.benchmarks.tuning_folds:InnerFolds",
    "deaps.benchmarks.tuning_folds:InnerFewLabels",
    "deaps.benchmarks.tuning_folds:InnerAfib",
)

_SLEEP = (
    "deaps.benchmarks.sleep_stage:SleepStage",
    "deaps.benchmarks.sleep_stage:SleepStageOfThree",
    "deaps.benchmarks.apnea:Apnea",
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
    made = (import_object(home)() for home in _SLEEP)
    return {benchmark.name: benchmark for benchmark in made}


@cache
def paper_benchmarks() -> dict[str, Benchmark]:
    """Return the paper's benchmarks, and the inner folds that settings are chosen by, by name."""
    made = (import_object(home)() for home in _PAPER)
    return {benchmark.name: benchmark for benchmark in made}
