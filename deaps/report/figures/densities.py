"""Density of AFib and of normal windows along one principal component."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import Component
from deaps.report.figures.drawing import bare_axes
from deaps.report.svg import inline_svg
from deaps.report.theme import RULE, SERIES, Dash

_SIZE = (120, 58)
AFIB_COLOUR = SERIES[1]
NORMAL_COLOUR = SERIES[0]
NORMAL_DASH: Dash = (0, (4, 1.8))


def density_plot(component: Component, *, name: str, label: str) -> Markup:
    """Return both densities: AFib as a filled solid line, normal dashed."""

    def draw(figure: MplFigure) -> None:
        axes = bare_axes(figure, margin=2)
        grid = np.array(component.grid)
        top = max((*component.afib, *component.normal), default=1.0) or 1.0
        axes.set(xlim=(grid.min(), grid.max()), ylim=(0, 1.05 * top))
        axes.axhline(0, color=RULE, linewidth=1)
        axes.fill_between(grid, component.afib, color=AFIB_COLOUR, alpha=0.18, linewidth=0)
        axes.plot(grid, component.afib, color=AFIB_COLOUR, linewidth=1.4)
        axes.plot(grid, component.normal, color=NORMAL_COLOUR, linestyle=NORMAL_DASH, linewidth=1.4)

    return inline_svg(draw, name=name, label=label, size=_SIZE)
