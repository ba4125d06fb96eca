"""How each method differs from its reference implementation or from the paper."""

from __future__ import annotations

from deaps.evaluation import Evaluation
from deaps.report.parts import Facts, Paragraph, Part, Section


def deviations_section(evaluation: Evaluation) -> Section:
    """Return the deviations of each representation that has some."""
    entries = tuple(
        (one.label, one.deviations) for one in evaluation.representations if one.deviations
    )
    text = (
        "How each representation differs from its reference implementation or from the paper."
        if entries
        else "No representation is known to differ from its reference implementation."
    )
    parts: tuple[Part, ...] = (
        Paragraph(text),
        *((Facts(entries, stacked=True),) if entries else ()),
    )
    return Section("deviations", "Deviations", parts)
