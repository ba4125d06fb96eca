"""ECG strips on paper with a light grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import Strip
from deaps.report.figures.drawing import bare_axes
from deaps.report.svg import inline_svg
from deaps.report.theme import ECG_COARSE, ECG_FINE, INK

_SIZE = (720, 150)
_LEAST_RANGE = (-3.0, 6.0)
_GREATEST = 20.0
"""Nothing beyond so many standard deviations is shown, or an artefact would flatten the rest."""

FINE_S = 0.2
COARSE_S = 1.0


def strip_range(strips: Sequence[Strip]) -> tuple[float, float]:
    """Return the range that strips are drawn in together, in their units."""
    samples = np.concatenate([_LEAST_RANGE, *(strip.signal for strip in strips)])
    low, high = np.nanmin(samples), np.nanmax(samples)
    return float(max(np.floor(low) - 0.5, -_GREATEST)), float(min(np.ceil(high) + 0.5, _GREATEST))


def strip_plot(strip: Strip, *, span: tuple[float, float], name: str, label: str) -> Markup:
    """Return one strip: fine lines every 0.2 s and unit, coarse ones every 1 s and 5 units."""

    def draw(figure: MplFigure) -> None:
        axes = bare_axes(figure, margin=1)
        seconds = np.arange(len(strip.signal)) / strip.fs
        length = len(strip.signal) / strip.fs
        axes.set(xlim=(0, length), ylim=span)
        draw_paper(axes, length, span)
        axes.plot(seconds, strip.signal, color=INK, linewidth=1.1)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


def draw_paper(axes: Axes, length: float, span: tuple[float, float]) -> None:
    """Draw the lines of ECG paper: fine ones every 0.2 s, coarse ones every second."""
    for step, every, colour, width in (
        (FINE_S, 1, ECG_FINE, 0.8),
        (COARSE_S, 5, ECG_COARSE, 1.0),
    ):
        first, last = every * np.ceil(span[0] / every), span[1]
        axes.vlines(np.arange(0, length + step / 2, step), *span, colors=colour, linewidths=width)
        axes.hlines(np.arange(first, last + 0.5, every), 0, length, colors=colour, linewidths=width)
