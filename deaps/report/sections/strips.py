"""Three strips: one subject normal and in AFib, and a second subject."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation
from deaps.report.figures.recordings.strips import strip_plot, strip_range
from deaps.report.parts import Figure, Panel, Part, Section
from deaps.report.sections.absent import notices

PAPER_LINES = (
    "Fine lines mark 0.2 s and one standard deviation of the recording, coarse lines 1 s and five "
    "standard deviations."
)


def strips_section(evaluation: Evaluation) -> Section:
    """Return the strips below each other, on one scale."""
    parts: list[Part] = [*notices(evaluation, "strips", empty=not evaluation.strips)]
    if evaluation.strips:
        span = strip_range(evaluation.strips)
        panels = tuple(
            Panel(
                strip_plot(strip, span=span, name=f"strip-{place}", label=f"ECG: {strip.caption}"),
                title=strip.caption,
            )
            for place, strip in enumerate(evaluation.strips)
        )
        caption = (
            "One subject in normal rhythm and in AFib, then a second subject: what changes within "
            f"a subject, and what differs between subjects. {PAPER_LINES}"
        )
        parts.append(Figure("figure-strips", caption, panels, arrangement="wide"))
    return Section("strips", "Strips", tuple(parts))
