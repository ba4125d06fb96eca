"""What could not be shown, and why: in the section that it is missing from, and in one list."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation
from deaps.report.parts import Bullets, Notice, Paragraph, Part, Section
from deaps.report.results import was_run, why_not_run


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
