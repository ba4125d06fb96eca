"""First two principal components, by subject."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray

from deaps.evaluation.document import Pca
from deaps.report.figures.drawing import bare_axes, limits, points
from deaps.report.svg import CLASS_MARK, inline_svg
from deaps.report.theme import INK, N_SERIES, RULE, SERIES, SHAPES

_SIDE = 240
_MOST_POINTS = 1200
"""Drawn of one representation: more would hide each other and make the page heavy."""
_POINT = 4.5
_LABEL_ROOM = (16.0, 12.0)
"""Width and height that the number of a subject takes, in pixels."""


def subject_plot(pca: Pca, *, name: str, label: str) -> Markup:
    """Return a scatter: each subject has a colour and shape, and its number if there is room."""
    kept = _thinned(len(pca.x))
    x, y = np.array(pca.x)[kept], np.array(pca.y)[kept]
    subjects = np.array(pca.subject)[kept]

    def draw(figure: MplFigure) -> None:
        axes = bare_axes(figure, margin=3)
        axes.set(xlim=limits(x), ylim=limits(y))
        _draw_frame(axes)
        for subject in np.unique(subjects):
            of_subject = subjects == subject
            _draw_subject(axes, int(subject), x[of_subject], y[of_subject])
        _write_numbers(axes, x, y, subjects)

    return inline_svg(draw, name=name, label=label, size=(_SIDE, _SIDE))


def _thinned(n: int) -> NDArray[np.intp]:
    """Return evenly spaced places, at most as many as are drawn."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(np.intp))


def _draw_frame(axes: Axes) -> None:
    corners = [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]
    axes.plot(*corners, transform=axes.transAxes, color=RULE, linewidth=0.8, clip_on=False)


def _draw_subject(axes: Axes, subject: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    # Six colours, and after each round of them the next shape.
    shape = SHAPES[(subject // N_SERIES) % len(SHAPES)]
    colour = SERIES[subject % N_SERIES]
    points(axes, x, y, shape=shape, colour=colour, size=_POINT, alpha=0.55)


def _write_numbers(
    axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], subjects: NDArray[np.intp]
) -> None:
    """Write each subject's number at its median, the largest subjects first, none over another."""
    numbers, sizes = np.unique(subjects, return_counts=True)
    taken: list[NDArray[np.float64]] = []
    for subject in numbers[np.argsort(-sizes, kind="stable")]:
        own = subjects == subject
        centre = np.array([np.median(x[own]), np.median(y[own])])
        pixel = axes.transData.transform(centre)
        if any((np.abs(pixel - other) < _LABEL_ROOM).all() for other in taken):
            continue
        taken.append(pixel)
        number = axes.text(
            centre[0], centre[1], str(int(subject) + 1), ha="center", va="center_baseline"
        )
        number.set(fontsize=12, fontweight="bold", color=INK, gid=f"{CLASS_MARK}halo")
