"""Windows in two dimensions, each with its strip."""

from __future__ import annotations

from deaps.evaluation.document import EmbeddingMap, Evaluation
from deaps.report.figures.signs import point_sign
from deaps.report.figures.window_map import class_sign, map_places, map_plot
from deaps.report.parts import LegendEntry, Map, Section
from deaps.report.results import representation_label
from deaps.report.sections.absent import notices
from deaps.report.wording import counted


def map_section(evaluation: Evaluation) -> Section:
    """Return the map, or the reason for its absence."""
    absent = notices(evaluation, "map", "embedding map", empty=evaluation.map is None)
    shown = (_map(evaluation, evaluation.map),) if evaluation.map else ()
    return Section("map", "Embedding map", (*absent, *shown))


def _map(evaluation: Evaluation, windows: EmbeddingMap) -> Map:
    classes = _classes(evaluation, windows)
    label = representation_label(evaluation, windows.representation)
    content = (
        f"Representations of {label} in two dimensions: {counted(len(windows.x), 'window')} of "
        f"{counted(len(set(windows.subject)), 'subject')} ({windows.method})"
    )
    legend = tuple(
        LegendEntry(point_sign(*class_sign(place), name=f"map-sign-{place}"), name)
        for place, name in enumerate(classes)
    )
    return Map(
        id="figure-map",
        caption=f"{content}. Windows that lie close together have similar representations. Point "
        "at a window, touch it or use the arrow keys to see its strip.",
        svg=map_plot(windows, classes, name="map", label=f"Scatter. {content}"),
        legend=legend,
        data=_data(windows, classes),
    )


def _classes(evaluation: Evaluation, windows: EmbeddingMap) -> list[str]:
    """Return the classes in the order of the benchmarks, then others by name."""
    present = set(windows.label)
    tested = [name for benchmark in evaluation.benchmarks for name in benchmark.classes]
    return [name for name in dict.fromkeys([*tested, *sorted(present)]) if name in present]


def _data(windows: EmbeddingMap, classes: list[str]) -> dict[str, object]:
    x, y = map_places(windows)
    return {
        "x": x,
        "y": y,
        "classes": classes,
        "label": [classes.index(name) for name in windows.label],
        "subject": list(windows.subject),
        "samples": windows.samples,
        "fs": windows.fs,
        "scale": windows.scale,
        "strips": windows.strips,
    }
