"""What drawings are made of."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from deaps.report.benchmark import fold_offsets
from deaps.report.drawing import bare_axes, limits, points, shortened, spread
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, SERIES, SHAPES, Shape


@given(st.lists(st.floats(0, 100), max_size=14))
def test_spread_keeps_the_order_and_a_gap(places: list[float]) -> None:
    moved = spread(places, 5)
    order = np.argsort(places, kind="stable")
    assert (np.diff(moved[order]) >= 5 - 1e-6).all()


def test_spread_leaves_what_has_room_where_it_is() -> None:
    assert spread([30, 10, 20], 5).tolist() == [30, 10, 20]


def test_spread_stays_inside() -> None:
    assert spread([9, 9, 9], 3, low=0, high=10).tolist() == [4, 7, 10]


def test_folds_of_the_same_accuracy_do_not_hide_each_other() -> None:
    assert len(set(fold_offsets([80.0, 80.5, 79.8, 30.0]))) == 3


def test_limits_of_constant_or_missing_values_have_a_width() -> None:
    for values in ([2.0, 2.0], [0.0], [], [float("nan")]):
        low, high = limits(values)
        assert high > low


def test_shortened() -> None:
    assert shortened("random encoder", 20) == "random encoder"
    assert shortened("a very long label", 9) == "a very l…"


def _svg(shape: Shape, n: int) -> str:
    def draw(figure: Figure) -> None:
        axes = bare_axes(figure)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        values = np.linspace(0.1, 0.9, n)
        points(axes, values, values, shape=shape, colour=SERIES[0], size=5)

    return str(inline_svg(draw, name="x", label="points", size=(100, 100)))


@pytest.mark.parametrize("shape", SHAPES)
def test_points_are_one_path_that_has_them_all(shape: Shape) -> None:
    svg = _svg(shape, 500)
    assert svg.count("<path") == 1
    moves = svg.count("M ")
    assert moves == 500 * (2 if shape in ("cross", "plus") else 1)


def test_svg_has_the_pages_colours_and_font_and_its_own_ids() -> None:
    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.plot([0, 1], [0, 1], color=INK, marker="o")
        axes.set_title("a <b> & $c$")

    svg = str(inline_svg(draw, name="own", label='"quoted"', size=(200, 100)))
    assert "font-family" not in svg
    assert "stroke: currentColor" in svg
    assert "a &lt;b&gt; &amp; $c$" in svg
    assert 'aria-label="&quot;quoted&quot;"' in svg
    assert set(re.findall(r'\bid="([^"]+)"', svg)) == set(re.findall(r"#(own-\d+)", svg))


def test_svg_bears_glyphs_that_matplotlib_lacks() -> None:
    def draw(figure: Figure) -> None:
        figure.text(0.5, 0.5, "心電図", color=INK)

    assert "心電図" in inline_svg(draw, name="x", label="text", size=(50, 20))
