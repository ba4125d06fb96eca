"""Questions to an evaluation: what was run, what is missing, who leads, and names for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from deaps.evaluation.document import (
    BenchmarkRecord,
    DatasetLabels,
    Evaluation,
    Representation,
    RepresentationRole,
    Score,
)
from deaps.report.parts import (
    Bullets,
    Figure,
    Map,
    Matrices,
    Notice,
    Paragraph,
    Part,
    Section,
    SideBySide,
    Table,
)
from deaps.report.wording import listed

ROLE_TITLES: dict[RepresentationRole, str] = {
    "method": "Methods",
    "baseline": "Baselines",
    "joined": "Method + RR features",
    "ablation": "Ablations",
}
"""Roles in the order of tables."""


def representations_of(evaluation: Evaluation, role: RepresentationRole) -> list[Representation]:
    """Return the representations of a role."""
    return [entry for entry in evaluation.representations if entry.role == role]


def tested_in(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[Representation]:
    """Return the representations that have an outcome in a benchmark."""
    return [entry for entry in evaluation.representations if benchmark.outcome(entry.name)]


def reported(evaluation: Evaluation) -> list[BenchmarkRecord]:
    """Return the benchmarks whose figures are the result, run or not."""
    return [benchmark for benchmark in evaluation.benchmarks if benchmark.reported]


def was_run(benchmark: BenchmarkRecord) -> bool:
    """Return whether a benchmark has figures."""
    return benchmark.not_run is None and bool(benchmark.outcomes)


def why_not_run(benchmark: BenchmarkRecord) -> str:
    """Return the sentence that stands in the place of a benchmark's figures."""
    return f"not run: {benchmark.not_run or 'no representation was tested'}"


def accuracy(benchmark: BenchmarkRecord, representation: str) -> Score | None:
    """Return the total accuracy of a representation, None where it was not tested."""
    outcome = benchmark.outcome(representation)
    return outcome.score("accuracy") if outcome else None


def ranked(
    evaluation: Evaluation, benchmark: BenchmarkRecord, role: RepresentationRole
) -> list[tuple[Representation, Score]]:
    """Return the representations of a role that were tested, the most accurate first."""
    entries = representations_of(evaluation, role)
    scores = ((entry, accuracy(benchmark, entry.name)) for entry in entries)
    tested = [(entry, score) for entry, score in scores if score is not None]
    return sorted(tested, key=lambda pair: -pair[1].value)


def best_methods(evaluation: Evaluation, benchmark: BenchmarkRecord) -> frozenset[str]:
    """Return the names of the methods that no other method exceeds; baselines never count."""
    order = ranked(evaluation, benchmark, "method")
    return frozenset(method.name for method, score in order if score.value == order[0][1].value)


def interval_words(benchmarks: Iterable[BenchmarkRecord]) -> str:
    """Return what the intervals of some benchmarks cover, as the end of a sentence."""
    scopes = {
        score.scope or ""
        for benchmark in benchmarks
        for outcome in benchmark.outcomes
        for score in outcome.scores
    }
    if any(scope.startswith("people and seeds") for scope in scopes):
        return "over people and seeds"
    return "over people alone: the between-seed variance is unknown with one seed"


def missing_seed_notes(evaluation: Evaluation, *roles: RepresentationRole) -> tuple[str, ...]:
    """Return a sentence for each representation of these roles that lacks a seed's training."""
    return tuple(
        f"{entry.label} has no finished training of {_seeds(entry.missing_seeds)}: its figures are "
        f"of {_seeds([run.seed for run in entry.runs])}."
        for role in roles
        for entry in representations_of(evaluation, role)
        if entry.missing_seeds
    )


def _seeds(seeds: Sequence[int]) -> str:
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {listed(map(str, seeds))}"


def benchmark_title(evaluation: Evaluation, name: str) -> str:
    """Return the title of a benchmark, or the key itself where it has no entry."""
    titles = {benchmark.name: benchmark.title for benchmark in evaluation.benchmarks}
    return titles.get(name, name)


def representation_label(evaluation: Evaluation, name: str) -> str:
    """Return the label of a representation, or the key itself where it has no entry."""
    labels = {entry.name: entry.label for entry in evaluation.representations}
    return labels.get(name, name)


def dataset_label(evaluation: Evaluation, name: str) -> str:
    """Return the label of a data set, or the key itself where it has no entry."""
    return DatasetLabels(evaluation.datasets)[name]


def absent_section(evaluation: Evaluation) -> Section:
    """Return all that is absent, benchmarks that were not run among it."""
    items = [
        f"{benchmark.title}: {why_not_run(benchmark)}"
        for benchmark in evaluation.benchmarks
        if not was_run(benchmark)
    ]
    items += evaluation.absent
    part: Part = Bullets(tuple(items)) if items else Paragraph("Nothing is missing.")
    return Section("absent", "Not shown, and why", (part,))


def notices(evaluation: Evaluation, *subjects: str, empty: bool) -> tuple[Notice, ...]:
    """Return what the evaluation lists as absent under these names ("pca: no data at ...").

    If a section is ``empty`` and the evaluation gives no reason, one sentence says so.
    """
    reasons = [text for text in evaluation.absent if _subject(text) in subjects]
    if not reasons and empty:
        reasons = [f"{subjects[0]}: not part of this evaluation"]
    return tuple(Notice(f"Not shown: {reason}") for reason in reasons)


def _subject(text: str) -> str:
    """Return what a text is about: "pca" of "pca of BYOL: too few windows"."""
    return text.partition(":")[0].partition(" of ")[0].strip().lower().replace("_", " ")


_MARK = "Synthetic data."


def report_title(evaluation: Evaluation) -> str:
    """Return the title, which says if the data are synthetic."""
    return f"{evaluation.title} (synthetic data)" if evaluation.synthetic else evaluation.title


def synthetic_banner(evaluation: Evaluation) -> str | None:
    """Return what stands above the page; None where every recording is of a person."""
    if not evaluation.synthetic:
        return None
    names = listed(dataset_label(evaluation, name) for name in evaluation.synthetic)
    verb = "is" if len(evaluation.synthetic) == 1 else "are"
    return (
        f"Synthetic data: {names} {verb} made by deaps synth, and no person was recorded. Nothing "
        "here says anything about patients, about the real data sets or about the paper."
    )


def marked_synthetic(sections: Iterable[Section], evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the sections; if data are synthetic, every caption begins with that."""
    if not evaluation.synthetic:
        return tuple(sections)
    return tuple(replace(s, parts=tuple(map(_marked, s.parts))) for s in sections)


def _marked(part: Part) -> Part:
    if isinstance(part, SideBySide):
        return SideBySide(tuple(map(_marked, part.parts)))
    if isinstance(part, Table | Figure | Matrices | Map):
        return replace(part, caption=f"{_MARK} {part.caption}")
    return part
