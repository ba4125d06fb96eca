"""The embedding map: windows in two dimensions, with their strips."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from deaps.evaluation.document import EmbeddingMap
from deaps.exhibits import NotShownError
from deaps.exhibits.groups import group_numbers, stratified_sample
from deaps.exhibits.json_numbers import plain_floats
from deaps.exhibits.small_strips import pack, thin, unpack
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


def decode_strips(map_: EmbeddingMap) -> NDArray[np.float64]:
    """Return the strips of a map, (points, samples), within half of ``scale``."""
    return unpack(map_.strips, map_.scale, map_.samples)


def lay_out(features: NDArray[np.floating], *, seed: int) -> tuple[NDArray[np.float64], str]:
    """Return a place for each row, (n, 2), and how it was computed, in words."""
    n = len(features)
    if n < _FEWEST:
        raise NotShownError(f"{n} windows; a map takes {_FEWEST}")
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
