"""Each training: loss, measures of collapse, speed, and what the gradual loss uses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deaps.evaluation.document import Evaluation, GradualUse, TrainingCurve
from deaps.report.arrays import NotShownError, plain_floats
from deaps.report.drawing import limits, name_above, pixel_axes
from deaps.report.parts import Body, Cell, ColumnGroup, Figure, Panel, Part, Row, Section, Table
from deaps.report.results import notices, representation_label
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, SERIES
from deaps.report.wording import count, duration, significant, slug
from deaps.training.metrics import read_metrics

if TYPE_CHECKING:
    from deaps.experiment import FinishedRun

MOST_POINTS = 200
_DRAWN = ("loss", "representation_std", "effective_rank", "windows_per_s")


def training_curve(representation: str, rows: Sequence[dict[str, Any]]) -> TrainingCurve:
    """Return a run's metrics, thinned to at most 200 rows at even distances, ends included.

    Rows come from `deaps.training.metrics.read_metrics`. One with a value that is not finite is
    left out of the drawing; its time counts.

    Raises
    ------
    NotShownError
        If there is no row to draw.
    """
    whole = [row for row in rows if all(math.isfinite(row[name]) for name in _DRAWN)]
    if not whole:
        raise NotShownError(f"{len(rows)} rows of metrics, none of them finite; nothing to draw")
    places = np.linspace(0, len(whole) - 1, min(MOST_POINTS, len(whole)))
    kept = [whole[i] for i in np.rint(places).astype(int).tolist()]
    return TrainingCurve(
        representation=representation,
        steps=tuple(int(row["step"]) for row in kept),
        seconds=total_seconds(rows),
        **{name: plain_floats([row[name] for row in kept]) for name in _DRAWN},
    )


def total_seconds(rows: Sequence[dict[str, Any]]) -> float:
    """Return the time of all steps: each row has the mean time of those since the row before."""
    before, seconds = 0, 0.0
    for row in rows:
        seconds += row["step_s"] * (row["step"] - before)
        before = row["step"]
    return float(seconds)


_COLUMNS = {
    "own": "gradual",
    "swapped": "gradual_swapped",
    "first": "gradual_first",
    "other_subject": "gradual_other_subject",
}
"""Metrics of `deaps.methods.deaps`, by the field that has their mean."""

_LAST_SHARE = 0.05
"""Share of the steps at the end that is averaged: one batch says little."""


def gradual_uses(finished: Sequence[FinishedRun]) -> Iterator[GradualUse]:
    """Yield what the gradual loss of each run used, of the runs that have that loss."""
    for each in finished:
        last = last_means(read_metrics(each.run.folder))
        if last is not None:
            yield GradualUse(representation=each.trained.name, seed=each.trained.key.seed, **last)


def last_means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Return the means over the last steps; None if the loss was not logged, or is not finite."""
    whole = [row for row in rows if _is_whole(row)]
    if not whole:
        return None
    start = (1 - _LAST_SHARE) * whole[-1]["step"]
    last = [row for row in whole if row["step"] >= start]
    return {
        field: float(np.mean([row[column] for row in last])) for field, column in _COLUMNS.items()
    }


def _is_whole(row: Mapping[str, Any]) -> bool:
    return all(math.isfinite(row.get(column, math.nan)) for column in _COLUMNS.values())


_SIZE = (270, 312)
_LEFT = 40
_BOTTOM = 38
_HEIGHT = 62
_BETWEEN = 28


def training_plot(curve: TrainingCurve, *, name: str, label: str) -> Markup:
    """Return three curves below each other, on one scale of iterations."""
    rows = (
        ("loss", curve.loss, INK),
        ("standard deviation", curve.representation_std, SERIES[0]),
        ("effective rank", curve.effective_rank, SERIES[0]),
    )

    def draw(figure: MplFigure) -> None:
        for place, (title, values, colour) in enumerate(rows):
            top = 19 + place * (_HEIGHT + _BETWEEN)
            bottom = _SIZE[1] - top - _HEIGHT
            axes = pixel_axes(figure, left=_LEFT, right=8, top=top, bottom=bottom)
            axes.plot(curve.steps, values, color=colour, linewidth=1.3)
            low, high = limits(values)
            # The measures of collapse are read against zero.
            axes.set_ylim(low if title == "loss" else 0, high)
            _finish(axes, title, last=place == len(rows) - 1, steps=curve.steps)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


def _finish(axes: Axes, title: str, *, last: bool, steps: tuple[int, ...]) -> None:
    axes.set_xlim(0, max(steps, default=1))
    name_above(axes, title)
    axes.yaxis.set_major_locator(MaxNLocator(2))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y")
    if last:
        axes.set_xlabel("iterations")
    else:
        axes.tick_params(axis="x", labelbottom=False)


def training_section(evaluation: Evaluation) -> Section:
    """Return curves of each run and a table of their last values and of throughput."""
    curves = evaluation.training
    parts: list[Part] = [*notices(evaluation, "training", empty=not curves)]
    if curves:
        parts += [_figure(evaluation), _table(evaluation)]
    if evaluation.gradual:
        parts.append(_gradual_table(evaluation))
    return Section("training", "Training", tuple(parts))


def _figure(evaluation: Evaluation) -> Figure:
    return Figure(
        id="figure-training",
        caption="Loss, standard deviation and effective rank during training. A collapse would "
        "show as a fall of the last two towards zero. The standard deviation is the mean over the "
        "features of unit-length representations; uncorrelated features give about 1 / √d. The "
        "losses of different methods cannot be compared.",
        panels=tuple(_panel(evaluation, curve) for curve in evaluation.training),
        arrangement="grid",
    )


def _panel(evaluation: Evaluation, curve: TrainingCurve) -> Panel:
    title = representation_label(evaluation, curve.representation)
    label = f"{title}: loss, standard deviation and effective rank over {len(curve.steps)} points"
    svg = training_plot(curve, name=f"training-{slug(curve.representation)}", label=label)
    return Panel(svg, title=title)


def _table(evaluation: Evaluation) -> Table:
    return Table(
        id="table-training",
        caption="Each run: its settings, its last values and its speed.",
        corner="",
        groups=(
            ColumnGroup("", ("iterations", "batch", "seed", "parameters")),
            ColumnGroup("at the end", ("loss", "std", "eff. rank")),
            ColumnGroup("speed", ("windows/s", "time")),
        ),
        bodies=(Body(tuple(_row(evaluation, curve) for curve in evaluation.training)),),
        notes=("windows/s: median over the logged steps. Time: all steps together.",),
    )


def _row(evaluation: Evaluation, curve: TrainingCurve) -> Row:
    representation = evaluation.representation(curve.representation)
    seed = str(representation.runs[0].seed) if representation.runs else "–"
    texts = (
        *(
            count(representation.iterations),
            count(representation.batch),
            seed,
            count(representation.parameters),
        ),
        *(_last(curve.loss), _last(curve.representation_std), _last(curve.effective_rank)),
        *(_median(curve.windows_per_s), duration(curve.seconds)),
    )
    return Row(representation.label, tuple(map(Cell, texts)))


def _gradual_table(evaluation: Evaluation) -> Table:
    rows = []
    for use in evaluation.gradual:
        label = representation_label(evaluation, use.representation)
        values = (use.own, use.swapped, use.first, use.other_subject)
        rows.append(Row(label, (Cell(str(use.seed)), *(Cell(significant(v)) for v in values))))
    return Table(
        id="table-gradual",
        caption="What the gradual loss uses: its mean over the last twentieth of the steps, and "
        "its mean on three altered triplets (a diagnostic: only the unaltered loss is minimised).",
        corner="",
        groups=(
            ColumnGroup("", ("seed",)),
            ColumnGroup(
                "gradual loss with",
                (
                    "the true middle",
                    "i and j swapped",
                    "the first window",
                    "another subject's middle",
                ),
            ),
        ),
        bodies=(Body(tuple(rows)),),
        notes=(
            "If swapping i and j changes nothing, the time within a triplet is not used. If the "
            "first window does as well as the middle, the middle adds nothing. If another "
            "middle is far worse, the loss depends on subject "
            "identity.",
        ),
    )


def _last(values: tuple[float, ...]) -> str:
    return significant(values[-1] if values else None)


def _median(values: tuple[float, ...]) -> str:
    return significant(median(values) if values else None)
