"""The map of windows in two dimensions, each with its strip."""

from __future__ import annotations

import base64
from collections.abc import Hashable, Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from deaps.evaluation.document import EmbeddingMap, Evaluation
from deaps.report.arrays import NotShownError, group_numbers, plain_floats, stratified_sample
from deaps.report.drawing import bare_axes, limits, point_sign, points
from deaps.report.parts import LegendEntry, Map, Section
from deaps.report.results import notices, representation_label
from deaps.report.svg import inline_svg
from deaps.report.theme import N_SERIES, SERIES, SHAPES, Shape
from deaps.report.wording import counted
from storage.schema import FS, WINDOW_SAMPLES

_FEWEST = 5
_PERPLEXITY = 30.0
_DIMENSIONS = 50
"""Principal components that distances are taken in."""


def embedding_map(
    representation: str,
    features: NDArray[np.floating],
    windows: NDArray[np.float32],
    labels: Sequence[str],
    subjects: Sequence[Hashable] | NDArray[np.generic],
    *,
    seed: int,
    points: int = 1200,
    samples: int = 250,
) -> EmbeddingMap:
    """Return a map of some windows on which neighbours stay neighbours.

    Parameters
    ----------
    features
        (n, d), finite.
    windows
        (n, 1000).
    labels, subjects
        (n,): class and subject of each; every pair of them that occurs is on the map.
    points, samples
        Windows on the map, and samples of a strip (a divisor of 1000).
    """
    numbers = group_numbers(subjects)
    drawn = stratified_sample(
        group_numbers(zip(labels, numbers.tolist(), strict=True)), points, seed=seed
    )
    places, method = lay_out(features[drawn], seed=seed)
    strips, scale = pack(thin(windows[drawn], samples))
    return EmbeddingMap(
        representation=representation,
        method=method,
        x=plain_floats(places[:, 0]),
        y=plain_floats(places[:, 1]),
        label=tuple(str(labels[i]) for i in drawn.tolist()),
        subject=tuple(numbers[drawn].tolist()),
        fs=FS * samples / WINDOW_SAMPLES,
        samples=samples,
        strips=strips,
        scale=scale,
    )


def lay_out(features: NDArray[np.floating], *, seed: int) -> tuple[NDArray[np.float64], str]:
    """Return a place for each row, (n, 2), and how it was computed, in words."""
    n = len(features)
    if n < _FEWEST:
        raise NotShownError(f"{n} windows; at least {_FEWEST} are needed")
    dimensions = min(_DIMENSIONS, n - 1, features.shape[1])
    perplexity = min(_PERPLEXITY, (n - 1) / 3)
    # One thread: the sums of several come in any order, and the map would not be the same again.
    with threadpool_limits(1):
        reduced = PCA(dimensions, svd_solver="full").fit_transform(features.astype(np.float64))
        # The layout starts from two components: one column needs a second.
        reduced = np.pad(reduced, ((0, 0), (0, max(0, 2 - dimensions))))
        tsne = TSNE(perplexity=perplexity, init="pca", random_state=seed)
        places = tsne.fit_transform(reduced)
    words = f"t-SNE, perplexity {perplexity:g}, of {dimensions} principal components, {n} windows"
    return places.astype(np.float64), words


_LARGEST = 127
LIMIT = 12.0
"""Standard deviations beyond which a strip is cut off; one artefact would flatten all others."""


def thin(windows: NDArray[np.float32], samples: int) -> NDArray[np.float32]:
    """Return windows, (n, m), with ``samples`` samples each; m must be a multiple of it.

    Of every m / samples neighbours the one that lies farthest from the mean around it stays:
    a filter before decimation would halve the R peaks, and every second would miss some.
    """
    n, length = windows.shape
    if samples < 1 or length % samples:
        raise ValueError(f"samples is {samples}; allowed are divisors of {length}")
    factor = length // samples
    around = uniform_filter1d(windows, 3 * factor, axis=1, mode="nearest")
    buckets = windows.reshape(n, samples, factor)
    distance = np.abs(windows - around).reshape(buckets.shape)
    kept = distance.argmax(axis=2)[:, :, np.newaxis]
    return np.asarray(np.take_along_axis(buckets, kept, axis=2)[:, :, 0])


def pack(strips: NDArray[np.float32]) -> tuple[str, float]:
    """Return strips as signed bytes in base64, and the value of one unit."""
    cut = np.clip(strips, -LIMIT, LIMIT).astype(np.float64)
    scale = float(np.abs(cut).max(initial=0.0)) / _LARGEST or 1.0
    return base64.b64encode(np.rint(cut / scale).astype(np.int8).tobytes()).decode(), scale


def unpack(packed: str, scale: float, samples: int) -> NDArray[np.float64]:
    """Return the strips of `pack`, (n, samples), within half a unit."""
    units = np.frombuffer(base64.b64decode(packed), np.int8).reshape(-1, samples)
    return units.astype(np.float64) * scale


_SIDE = 560
_POINT = 6.5
_MARGIN = 6


def class_sign(place: int) -> tuple[Shape, str]:
    """Return shape and colour of the class at that place."""
    return SHAPES[place % len(SHAPES)], SERIES[place % N_SERIES]


def map_plot(windows: EmbeddingMap, classes: Sequence[str], *, name: str, label: str) -> Markup:
    """Return the scatter, each class with a shape and colour of its own."""
    x, y, labels = np.array(windows.x), np.array(windows.y), np.array(windows.label)

    def draw(figure: MplFigure) -> None:
        axes = _axes(figure, windows)
        for place, class_name in enumerate(classes):
            shape, colour = class_sign(place)
            own = labels == class_name
            points(axes, x[own], y[own], shape=shape, colour=colour, size=_POINT, alpha=0.75)

    return inline_svg(draw, name=name, label=label, size=(_SIDE, _SIDE))


def map_places(windows: EmbeddingMap) -> list[list[float]]:
    """Return where each window stands in the drawing: x and y from its upper left corner."""
    inner = _SIDE - 2 * _MARGIN
    places = []
    for values, flipped in ((windows.x, False), (windows.y, True)):
        low, high = limits(values)
        shares = (np.array(values) - low) / (high - low)
        pixels = _MARGIN + inner * (1 - shares if flipped else shares)
        places.append([round(float(pixel), 1) for pixel in pixels])
    return places


def _axes(figure: MplFigure, windows: EmbeddingMap) -> Axes:
    axes = bare_axes(figure, margin=_MARGIN)
    axes.set(xlim=limits(windows.x), ylim=limits(windows.y))
    return axes


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
