"""How each method differs from its reference implementation or from the paper."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation
from deaps.report.parts import Paragraph, Part, Section, TermList


def deviations_section(evaluation: Evaluation) -> Section:
    """Return the deviations of each representation that has some."""
    entries = tuple(
        (entry.label, entry.deviations) for entry in evaluation.representations if entry.deviations
    )
    text = (
        "How each representation differs from its reference implementation or from the paper."
        if entries
        else "No deviation from a reference implementation or from the paper is recorded."
    )
    parts: tuple[Part, ...] = (
        Paragraph(text),
        *((TermList(entries, stacked=True),) if entries else ()),
    )
    return Section("deviations", "Deviations", parts)
