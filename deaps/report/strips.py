"""ECG strips: one subject normal and in AFib, and a second subject."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray

from deaps.evaluation.document import Evaluation, Strip
from deaps.report.arrays import NotShownError, group_numbers
from deaps.report.drawing import bare_axes, pixel_axes
from deaps.report.parts import Figure, Panel, Part, Section
from deaps.report.results import notices
from deaps.report.svg import FONT_SIZE, inline_svg
from deaps.report.theme import ECG_COARSE, ECG_FINE, INK
from storage.schema import FS, Quality

CAPTIONS = ("subject A, normal", "subject A, atrial fibrillation", "subject B, normal")
"""Of the three strips, in the order of `ChosenStrips`."""


class ChosenStrips(NamedTuple):
    """Places of three windows: subject A normal and in AFib, subject B normal."""

    normal: int
    afib: int
    other: int


def choose_strips(
    recording_ids: NDArray[np.integer],
    rows: NDArray[np.integer],
    subjects: Sequence[Hashable] | NDArray[np.generic],
    afib: NDArray[np.bool_],
    quality: Sequence[str] | NDArray[np.generic],
) -> ChosenStrips:
    """Return three typical windows of good quality; the same for the same windows in any order.

    Subject A is the one with the most windows of the best quality in the rarer of the two
    rhythms, subject B the other one with the most normal ones. Of each, the middle of the
    longest stretch of such windows is taken: far from a change of rhythm or quality.

    Parameters
    ----------
    recording_ids, rows, subjects, afib, quality
        (n,): the windows, whose they are, whether AFib or (else) normal, and `Quality`.

    Raises
    ------
    NotShownError
        If no subject has both rhythms, or no other one has a normal window.
    """
    order = np.lexsort((rows, recording_ids))
    names = list(subjects)
    owners = group_numbers(names[i] for i in order.tolist())
    steady = afib[order]
    grade = _grades([str(quality[i]) for i in order.tolist()])
    kinds = [_counts(owners, grade, steady == rhythm) for rhythm in (False, True)]
    first = _first_subject(*kinds)
    second = _second_subject(kinds[0], first)
    at = recording_ids[order].astype(np.int64), rows[order].astype(np.int64)
    wanted = ((first, False), (first, True), (second, False))
    chosen = [
        _typical(*at, np.flatnonzero((owners == subject) & (steady == rhythm)), grade)
        for subject, rhythm in wanted
    ]
    return ChosenStrips(*(int(order[i]) for i in chosen))


def strip(caption: str, window: NDArray[np.floating]) -> Strip:
    """Return a window for drawing, its values rounded to three decimals."""
    values = np.round(window.astype(np.float64), 3) + 0.0  # no -0.0
    return Strip(caption=caption, fs=float(FS), signal=tuple(values.tolist()))


def _grades(quality: list[str]) -> NDArray[np.int64]:
    """Return 0 for Excellent, and so on down."""
    allowed = [str(name) for name in Quality]
    if unknown := sorted(set(quality) - set(allowed)):
        raise ValueError(f"quality is {unknown[0]!r}; allowed are {', '.join(allowed)}")
    return np.array([allowed.index(name) for name in quality], np.int64)


def _counts(
    owners: NDArray[np.int64], grade: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return how many chosen windows of each grade each subject has, (subjects, grades)."""
    counts = np.zeros((int(owners.max(initial=-1)) + 1, len(Quality)), np.int64)
    np.add.at(counts, (owners[chosen], grade[chosen]), 1)
    return counts


def _first_subject(normal: NDArray[np.int64], afib: NDArray[np.int64]) -> int:
    # Grade by grade: a subject without Excellent windows in both rhythms may still have others.
    for grade in range(len(Quality)):
        rarer = np.minimum(normal[:, : grade + 1].sum(axis=1), afib[:, : grade + 1].sum(axis=1))
        if rarer.any():
            return int(rarer.argmax())
    raise NotShownError("no subject has both a normal window and one in AFib")


def _second_subject(normal: NDArray[np.int64], first: int) -> int:
    others = normal.copy()
    others[first] = 0
    for grade in range(len(Quality)):
        if others[:, grade].any():
            return int(others[:, grade].argmax())
    raise NotShownError("no second subject has a normal window")


def _typical(
    recording_ids: NDArray[np.int64],
    rows: NDArray[np.int64],
    candidates: NDArray[np.int64],
    grade: NDArray[np.int64],
) -> int:
    """Return the middle of the longest run of the best candidates in one recording."""
    best = candidates[grade[candidates] == grade[candidates].min()]
    breaks = (np.diff(recording_ids[best]) != 0) | (np.diff(rows[best]) != 1)
    runs = np.split(best, np.flatnonzero(breaks) + 1)
    longest = max(runs, key=len)
    return int(longest[len(longest) // 2])


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


PAPER_LINES = (
    "Fine lines mark 0.2 s and one standard deviation of the recording, coarse lines 1 s and five "
    "standard deviations."
)


def strips_section(evaluation: Evaluation) -> Section:
    """Return the strips below each other, on one scale."""
    parts: list[Part] = [*notices(evaluation, "strips", empty=not evaluation.strips)]
    if evaluation.strips:
        span = strip_range(evaluation.strips)
        panels = tuple(
            Panel(
                strip_plot(strip, span=span, name=f"strip-{place}", label=f"ECG: {strip.caption}"),
                title=strip.caption,
            )
            for place, strip in enumerate(evaluation.strips)
        )
        caption = (
            "One subject in normal rhythm and in AFib, then a second subject: what changes within "
            f"a subject, and what differs between subjects. {PAPER_LINES}"
        )
        parts.append(Figure("figure-strips", caption, panels, arrangement="wide"))
    return Section("strips", "Strips", tuple(parts))
