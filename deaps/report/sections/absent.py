"""What could not be shown, and why."""

from __future__ import annotations

from deaps.evaluation import Evaluation
from deaps.report.parts import Bullets, Paragraph, Part, Section
from deaps.report.ranking import was_run, why_not_run


def absent_section(evaluation: Evaluation) -> Section:
    """Return all that is absent, benchmarks that were not run among it."""
    items = [
        f"{one.title}: {why_not_run(one)}" for one in evaluation.benchmarks if not was_run(one)
    ]
    items += evaluation.absent
    part: Part = Bullets(tuple(items)) if items else Paragraph("Everything could be shown.")
    return Section("absent", "Not shown, and why", (part,))
