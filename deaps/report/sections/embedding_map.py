"""Windows in two dimensions, each with its strip."""

from __future__ import annotations

from deaps.evaluation import EmbeddingMap, Evaluation
from deaps.report.absence import notices
from deaps.report.figures.signs import point_sign
from deaps.report.figures.window_map import class_sign, map_places, map_plot
from deaps.report.parts import LegendEntry, Map, Section
from deaps.report.titles import representation_label
from deaps.report.wording import counted


def map_section(evaluation: Evaluation) -> Section:
    """Return the map, or why there is none."""
    absent = notices(evaluation, "map", "embedding map", empty=evaluation.map is None)
    shown = (_map(evaluation, evaluation.map),) if evaluation.map else ()
    return Section("map", "Embedding map", (*absent, *shown))


def _map(evaluation: Evaluation, windows: EmbeddingMap) -> Map:
    classes = _classes(evaluation, windows)
    label = representation_label(evaluation, windows.representation)
    told = (
        f"{counted(len(windows.x), 'window')} of {counted(len(set(windows.subject)), 'subject')} "
        f"in the representation of {label}, laid out by {windows.method}"
    )
    legend = tuple(
        LegendEntry(point_sign(*class_sign(place), name=f"map-sign-{place}"), one)
        for place, one in enumerate(classes)
    )
    return Map(
        id="figure-map",
        caption=f"{told}. Neighbours have similar representations. Point at a window, touch it, or "
        "move with the arrow keys, to see its strip.",
        svg=map_plot(windows, classes, name="map", label=f"Scatter of {told}"),
        legend=legend,
        data=_data(windows, classes),
    )


def _classes(evaluation: Evaluation, windows: EmbeddingMap) -> list[str]:
    """Return the classes in the order of the benchmarks, then others by name."""
    known = [name for benchmark in evaluation.benchmarks for name in benchmark.classes]
    found = set(windows.label)
    return [name for name in dict.fromkeys([*known, *sorted(found)]) if name in found]


def _data(windows: EmbeddingMap, classes: list[str]) -> dict[str, object]:
    x, y = map_places(windows)
    return {
        "x": x,
        "y": y,
        "classes": classes,
        "label": [classes.index(one) for one in windows.label],
        "subject": list(windows.subject),
        "samples": windows.samples,
        "fs": windows.fs,
        "scale": windows.scale,
        "strips": windows.strips,
    }
