"""Which representation leads a benchmark, on total accuracy alone."""

from __future__ import annotations

from deaps.evaluation import BenchmarkRecord, Evaluation, Representation, RepresentationRole, Score


def accuracy(benchmark: BenchmarkRecord, representation: str) -> Score | None:
    """Return the total accuracy of a representation, None where it was not tested."""
    outcome = benchmark.outcome(representation)
    return outcome.score("accuracy") if outcome else None


def ranked(
    evaluation: Evaluation, benchmark: BenchmarkRecord, role: RepresentationRole
) -> list[tuple[Representation, Score]]:
    """Return the representations of a role that were tested, the most accurate first."""
    scores = (
        (one, accuracy(benchmark, one.name))
        for one in evaluation.representations
        if one.role == role
    )
    tested = [(one, score) for one, score in scores if score is not None]
    return sorted(tested, key=lambda pair: -pair[1].value)


def best_methods(evaluation: Evaluation, benchmark: BenchmarkRecord) -> frozenset[str]:
    """Return the names of the methods that no other method exceeds; floors never count."""
    order = ranked(evaluation, benchmark, "method")
    return frozenset(one.name for one, score in order if score.value == order[0][1].value)


def reported(evaluation: Evaluation) -> list[BenchmarkRecord]:
    """Return the benchmarks whose figures are the result, run or not."""
    return [benchmark for benchmark in evaluation.benchmarks if benchmark.reported]


def was_run(benchmark: BenchmarkRecord) -> bool:
    """Return whether a benchmark has figures."""
    return benchmark.not_run is None and bool(benchmark.outcomes)


def why_not_run(benchmark: BenchmarkRecord) -> str:
    """Return the sentence that stands in the place of a benchmark's figures."""
    return f"not run: {benchmark.not_run or 'it has no outcome'}"
