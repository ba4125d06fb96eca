"""Example nights, from start to end."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation
from deaps.report.figures.recordings.night_page import night_page_plot
from deaps.report.parts import Figure, Panel, Section


def sleep_sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the section on nights; none where no night was scored."""
    if not evaluation.nights:
        return ()
    panels = tuple(
        Panel(night_page_plot(night, name=f"night-page-{place}"), title=night.title)
        for place, night in enumerate(evaluation.nights)
    )
    caption = (
        "Nights with their sleep stages, scored events, signal quality, heart rate and the first "
        "principal components of a representation, computed within the night."
    )
    figure = Figure("figure-nights", caption, panels, arrangement="wide")
    return (Section("nights", "Nights", (figure,)),)
