"""Windows below each other, each with a line of words above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import Strip
from deaps.report.figures.drawing import pixel_axes
from deaps.report.figures.recordings.strips import draw_paper, strip_range
from deaps.report.svg import FONT_SIZE
from deaps.report.theme import INK

_WIDTH, _HEIGHT, _HEAD = 900, 150, 30


def strip_stack_drawing(
    strips: Sequence[Strip],
) -> tuple[Callable[[MplFigure], None], tuple[float, float]]:
    """Return what draws the strips on one scale, and its size in pixels."""
    height = len(strips) * (_HEIGHT + _HEAD)
    span = strip_range(strips)

    def draw(figure: MplFigure) -> None:
        for place, strip in enumerate(strips):
            top = place * (_HEIGHT + _HEAD) + _HEAD
            axes = pixel_axes(figure, left=8, right=8, top=top, bottom=height - top - _HEIGHT)
            axes.set_axis_off()
            length = len(strip.signal) / strip.fs
            axes.set(xlim=(0, length), ylim=span)
            draw_paper(axes, length, span)
            axes.plot(np.arange(len(strip.signal)) / strip.fs, strip.signal, color=INK, linewidth=1)
            axes.set_title(strip.caption, loc="left", fontsize=FONT_SIZE, color=INK, pad=6)

    return draw, (_WIDTH, height)
