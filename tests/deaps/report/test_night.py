"""The drawing of one recording: quality and heart rate along time."""

from __future__ import annotations

import re

import numpy as np

from deaps.report.quality import quality_sign
from deaps.report.recording import Night, night_plot
from deaps.report.theme import VARIABLES

CLASSES = ("Excellent", "Barely acceptable", "Unacceptable")
WINDOW_MIN = 1 / 6


def night(qualities: str, rates: list[float] | None = None) -> Night:
    """Return a recording from the first letters of its windows' classes."""
    names = {name[0]: name for name in CLASSES}
    return Night(
        start_min=WINDOW_MIN * np.arange(len(qualities)),
        window_min=WINDOW_MIN,
        quality=np.array([names[letter] for letter in qualities]),
        heart_rate=np.array(rates or [60.0] * len(qualities)),
    )


def bars(svg: str, place: int) -> list[tuple[float, float]]:
    """Return left and right end of each bar in the lane of a class."""
    colour = VARIABLES[quality_sign(place)[0]]
    paths = re.findall(rf'<path d="([^"]+)"[^>]*style="fill: {re.escape(colour)}', svg)
    ends = []
    for path in paths:
        x = [float(a) for a, _ in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)]
        ends.append((min(x), max(x)))
    return sorted(ends)


def draw(shown: Night, marks: tuple[float, ...] = ()) -> str:
    return str(night_plot(shown, CLASSES, marks, name="night", label="a night"))


def test_each_stretch_of_a_class_is_one_bar_in_its_lane() -> None:
    svg = draw(night("EEBEUEEEB"))
    assert [len(bars(svg, place)) for place in range(3)] == [3, 2, 1]


def test_a_bar_is_as_long_as_its_stretch() -> None:
    svg = draw(night("EEBEU"))
    (first, second), ((left, right),) = bars(svg, 0), bars(svg, 1)
    window = right - left
    assert np.isclose(first[1] - first[0], 2 * window, atol=0.05)
    assert np.isclose(first[1], left, atol=0.05)
    assert np.isclose(second[0], right, atol=0.05)


def test_a_class_without_windows_keeps_its_lane() -> None:
    svg = draw(night("EEEE"))
    assert bars(svg, 2) == []
    assert all(name in svg for name in CLASSES)


def test_marks_are_numbered_in_order() -> None:
    svg = draw(night("EBU"), marks=(0.4, 0.1))
    marks = re.findall(r'font-weight: 700[^>]*x="([\d.]+)"[^>]*>(\d)</text>', svg)
    (later, first), (earlier, second) = marks
    assert (first, second) == ("1", "2")
    assert float(later) > float(earlier)


def test_windows_without_beats_leave_a_gap() -> None:
    whole = draw(night("EEEEE", [60, 62, 64, 66, 68]))
    gap = draw(night("EEEEE", [60, 62, np.nan, 66, 68]))
    trace = re.compile(r'<path d="(M [^"]+)"[^>]*style="fill: none; stroke: currentColor')
    assert trace.search(whole)[1].count("M") + 1 == trace.search(gap)[1].count("M")  # type: ignore[index]
