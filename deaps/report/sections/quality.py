"""Quality of the windows, by data set and visit, with examples."""

from __future__ import annotations

from deaps.evaluation import Evaluation, QualityExample
from deaps.report.absence import notices
from deaps.report.figures.quality_bars import quality_plot, quality_sign
from deaps.report.figures.signs import area_sign
from deaps.report.figures.strips import strip_plot, strip_range
from deaps.report.parts import (
    Beside,
    Body,
    Cell,
    ColumnGroup,
    Figure,
    LegendEntry,
    Panel,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.sections.strips import PAPER_LINES
from deaps.report.wording import count, percent
from storage.schema import Quality

_BEST_FIRST = tuple(map(str, Quality))


def quality_section(evaluation: Evaluation) -> Section:
    """Return bars and counts by data set and visit, and examples of each class."""
    counts = _counts(evaluation)
    classes = _classes(evaluation)
    parts: list[Part] = [*notices(evaluation, "quality", empty=not counts)]
    if counts:
        parts.append(Beside((_figure(counts, classes), _table(counts, classes))))
    parts += notices(evaluation, "quality examples", empty=not evaluation.quality_examples)
    if evaluation.quality_examples:
        parts.append(_examples(evaluation.quality_examples))
    return Section("quality", "Signal quality", tuple(parts))


def _counts(evaluation: Evaluation) -> dict[str, dict[str, int]]:
    """Return windows of each class, by data set and visit; a single visit is not named."""
    visits: dict[str, set[int]] = {}
    for one in evaluation.quality:
        visits.setdefault(one.dataset, set()).add(one.visit)
    counts: dict[str, dict[str, int]] = {}
    for one in evaluation.quality:
        several = len(visits[one.dataset]) > 1
        label = f"{one.dataset}, visit {one.visit}" if several else one.dataset
        row = counts.setdefault(label, {})
        row[one.quality] = row.get(one.quality, 0) + one.n_windows
    return counts


def _classes(evaluation: Evaluation) -> list[str]:
    """Return the quality classes, the best first; others follow as they come."""
    found = dict.fromkeys(one.quality for one in evaluation.quality)
    known = [name for name in _BEST_FIRST if name in found]
    return known + [name for name in found if name not in known]


def _figure(counts: dict[str, dict[str, int]], classes: list[str]) -> Figure:
    rows = []
    for label, row in counts.items():
        total = sum(row.values()) or 1
        rows.append((label, [row.get(name, 0) / total for name in classes]))
    label = f"Shares of {len(classes)} quality classes in {len(rows)} rows; figures in a table"
    legend = tuple(
        LegendEntry(area_sign(*quality_sign(place), name=f"quality-sign-{place}"), name)
        for place, name in enumerate(classes)
    )
    return Figure(
        id="figure-quality",
        caption="Quality of all windows by data set and visit.",
        panels=(Panel(quality_plot(rows, name="quality", label=label)),),
        legend=legend,
    )


def _table(counts: dict[str, dict[str, int]], classes: list[str]) -> Table:
    rows = []
    for label, row in counts.items():
        total = sum(row.values())
        cells = [Cell(count(total))]
        for name in classes:
            share = row.get(name, 0) / total if total else None
            cells.append(Cell(percent(share), note=count(row.get(name, 0))))
        rows.append(Row(label, tuple(cells)))
    return Table(
        id="table-quality",
        caption="Windows by quality class: shares in per cent, counts below.",
        corner="",
        groups=(ColumnGroup("", ("windows", *classes)),),
        bodies=(Body(tuple(rows)),),
    )


def _examples(examples: tuple[QualityExample, ...]) -> Figure:
    span = strip_range([one.strip for one in examples])
    panels = tuple(
        Panel(
            strip_plot(
                one.strip,
                span=span,
                name=f"quality-example-{place}",
                label=f"ECG of quality {one.quality}: {one.strip.caption}",
            ),
            title=one.quality,
            note=one.strip.caption,
        )
        for place, one in enumerate(examples)
    )
    caption = f"A window of each quality class. {PAPER_LINES}"
    return Figure("figure-quality-examples", caption, panels, layout="wide")
