"""Loss and the two measures of collapse over one training."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deaps.evaluation.document import TrainingCurve
from deaps.report.figures.drawing import limits, name_above, pixel_axes
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, SERIES

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
