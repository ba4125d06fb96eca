"""Three strips: one subject normal and in AFib, and a second subject."""

from __future__ import annotations

from deaps.evaluation import Evaluation
from deaps.report.absence import notices
from deaps.report.figures.strips import strip_plot, strip_range
from deaps.report.parts import Figure, Panel, Part, Section

PAPER_LINES = (
    "Fine lines every 0.2 s and every standard deviation of the recording, coarse lines every "
    "second and every five."
)


def strips_section(evaluation: Evaluation) -> Section:
    """Return the strips below each other, on one scale."""
    parts: list[Part] = [*notices(evaluation, "strips", empty=not evaluation.strips)]
    if evaluation.strips:
        span = strip_range(evaluation.strips)
        panels = tuple(
            Panel(
                strip_plot(one, span=span, name=f"strip-{place}", label=f"ECG: {one.caption}"),
                title=one.caption,
            )
            for place, one in enumerate(evaluation.strips)
        )
        caption = (
            "What changes within a subject and what differs between subjects: one subject in "
            f"normal rhythm and in AFib, and a second subject. {PAPER_LINES}"
        )
        parts.append(Figure("figure-strips", caption, panels, layout="wide"))
    return Section("strips", "Strips", tuple(parts))
