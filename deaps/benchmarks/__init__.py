"""The paper's benchmarks: a support vector classifier on frozen features, one file each."""

from __future__ import annotations

from deaps.benchmarks.afib_leave_one_out import AfibLeaveOneOut
from deaps.benchmarks.afib_transfer import AfibTransfer
from deaps.benchmarks.challenge import Challenge2017
from deaps.benchmarks.gender import Gender
from deaps.benchmarks.interface import Benchmark
from deaps.benchmarks.tuning_folds import InnerFewLabels, InnerFolds

__all__ = ["BENCHMARKS", "Benchmark"]

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        AfibTransfer(),
        AfibLeaveOneOut(),
        Gender(),
        Challenge2017(),
        InnerFolds(),
        InnerFewLabels(),
    )
}
"""All benchmarks, by name, in the order of the report."""
