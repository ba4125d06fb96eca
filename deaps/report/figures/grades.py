"""The share of Unacceptable windows by the technicians' grade."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import QualityGrades
from deaps.report.figures.drawing import name_above, pixel_axes, points
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, SERIES

_SIZE = (520, 240)
_JITTER = 0.18


def grades_plot(grades: QualityGrades, *, name: str, label: str) -> Markup:
    """Return a point for each recording, and a line at the median of each grade."""

    def draw(figure: MplFigure) -> None:
        axes = pixel_axes(figure, left=40, right=12, top=30, bottom=40)
        grade, share = np.array(grades.grade), 100 * np.array(grades.share)
        axes.set(
            xlim=(grade.min() - 0.6, grade.max() + 0.6), ylim=(-2, max(5.0, share.max() * 1.08))
        )
        rng = np.random.default_rng(0)
        places = grade + rng.uniform(-_JITTER, _JITTER, len(grade))
        for value in np.unique(grade):
            axes.hlines(
                np.median(share[grade == value]),
                value - 0.35,
                value + 0.35,
                colors=INK,
                linewidth=2,
            )
        points(axes, places, share, shape="circle", colour=SERIES[0], size=5, alpha=0.6)
        axes.set_xticks(np.unique(grade), [f"{value:g}" for value in np.unique(grade)])
        axes.set_xlabel("technician's grade of the heart signal")
        name_above(axes, "Unacceptable windows, per cent")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y")

    return inline_svg(draw, name=name, label=label, size=_SIZE)
