"""The embedding map on groups that lie apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deaps.evaluation.document import EmbeddingMap
from deaps.report.arrays import NotShownError
from deaps.report.window_map import embedding_map, lay_out, thin, unpack

N = 90


def made() -> tuple[NDArray[np.float64], NDArray[np.float32], list[str], list[str]]:
    """Return three far groups of windows, with a name for each group, of 15 subjects."""
    rng = np.random.default_rng(0)
    group = np.arange(N) % 3
    features = rng.standard_normal((N, 64)) + 12 * rng.standard_normal((3, 64))[group]
    windows = rng.standard_normal((N, 1000)).astype(np.float32)
    return features, windows, [f"class {g}" for g in group], [f"s{k % 15}" for k in range(N)]


def make_map(**changes: int) -> EmbeddingMap:
    return embedding_map("deaps", *made(), **{"seed": 0} | changes)


@pytest.fixture(scope="module")
def whole_map() -> EmbeddingMap:
    return make_map()


def test_neighbours_in_features_are_neighbours_on_the_map(whole_map: EmbeddingMap) -> None:
    places = np.column_stack([whole_map.x, whole_map.y])
    distance = np.linalg.norm(places[:, np.newaxis] - places, axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argmin(axis=1)
    assert [whole_map.label[i] for i in nearest] == list(whole_map.label)


def test_strips_stand_beside_their_points(whole_map: EmbeddingMap) -> None:
    expected = thin(made()[1], 250)
    strips = unpack(whole_map.strips, whole_map.scale, whole_map.samples)
    assert np.abs(strips - expected).max() <= whole_map.scale / 2 + 1e-9
    assert whole_map.fs == 25


def test_the_same_seed_gives_the_same_map(whole_map: EmbeddingMap) -> None:
    assert make_map() == whole_map


def test_a_sample_has_every_class_of_every_subject() -> None:
    found = make_map(points=20)
    assert len(found.x) == len(found.label) == len(found.subject) == 20
    pairs = set(zip(found.label, found.subject, strict=True))
    assert len(pairs) == 15  # subject k is always of class k % 3


def test_subjects_are_numbers(whole_map: EmbeddingMap) -> None:
    assert set(whole_map.subject) == set(range(15))


def test_layout_says_what_it_did(whole_map: EmbeddingMap) -> None:
    assert whole_map.method == ("t-SNE, perplexity 29.6667, of 50 principal components, 90 windows")


@pytest.mark.parametrize("shape", [(5, 3), (8, 1), (6, 200)])
def test_few_windows_or_features_can_be_laid_out(shape: tuple[int, int]) -> None:
    places, _ = lay_out(np.random.default_rng(0).standard_normal(shape), seed=0)
    assert places.shape == (shape[0], 2)
    assert np.isfinite(places).all()


def test_too_few_windows_are_refused() -> None:
    with pytest.raises(NotShownError, match="4 windows; at least 5 are needed"):
        lay_out(np.zeros((4, 3)), seed=0)
