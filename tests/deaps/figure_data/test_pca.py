"""Principal components against numpy's SVD, distances against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deaps.evaluation.document import Pca
from deaps.report.arrays import NotShownError
from deaps.report.pca import folded_auc, ks_distance, pca_data, subject_silhouette

N, D = 400, 10


def made(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
    """Return features with a place for each of 8 subjects and a direction for AFib."""
    rng = np.random.default_rng(seed)
    subjects = rng.integers(0, 8, N)
    afib = rng.random(N) < 0.4
    features = rng.standard_normal((N, D)) * np.linspace(2, 0.5, D)
    features += 3 * rng.standard_normal((8, D))[subjects]
    features[:, 3] += 4 * afib
    return features.astype(np.float32), subjects, afib


def figure(**changes: int) -> Pca:
    features, subjects, afib = made()
    return pca_data("deaps", "afdb", features, subjects, afib, **{"seed": 1} | changes)


def svd_scores(features: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    return u * s, s**2 / np.sum(s**2)


def test_points_are_the_centred_features_on_their_main_axes() -> None:
    found = figure(sample=N)
    scores, _ = svd_scores(made()[0])
    # The sign of an axis is free.
    np.testing.assert_allclose(np.abs(found.x), np.abs(scores[:, 0]), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.abs(found.y), np.abs(scores[:, 1]), rtol=1e-4, atol=1e-4)


def test_six_components_explain_what_the_singular_values_say() -> None:
    explained = [component.explained for component in figure().components]
    np.testing.assert_allclose(explained, svd_scores(made()[0])[1][:6], rtol=1e-6)


def test_component_tells_episodes_apart_as_scipy_says() -> None:
    scores, _ = svd_scores(made()[0])
    afib = made()[2]
    for k, component in enumerate(figure().components):
        a, b = scores[afib, k], scores[~afib, k]
        assert component.ks == pytest.approx(stats.ks_2samp(a, b).statistic)
        u = stats.mannwhitneyu(a, b).statistic / (len(a) * len(b))
        assert component.auc == pytest.approx(max(u, 1 - u))


def test_ks_distance_counts_ties_on_both_sides() -> None:
    a, b = np.array([1.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0, 4.0, 5.0])
    steps = np.linspace(0, 6, 601)
    slow = max(abs(np.mean(a <= x) - np.mean(b <= x)) for x in steps)
    assert ks_distance(a, b) == pytest.approx(slow)


def test_auc_does_not_care_for_the_direction() -> None:
    scores, positive = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False])
    assert folded_auc(scores, positive) == folded_auc(-scores, positive) == 1.0


def silhouette_by_loops(points: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    values = []
    for i, point in enumerate(points):
        distance = np.linalg.norm(points - point, axis=1)
        mine = (groups == groups[i]) & (np.arange(len(points)) != i)
        own = distance[mine].mean()
        other = min(distance[groups == g].mean() for g in set(groups.tolist()) - {groups[i]})
        values.append((other - own) / max(own, other))
    return float(np.mean(values))


def test_silhouette_equals_its_definition() -> None:
    features, subjects, _ = made()
    scores, _ = svd_scores(features)
    assert figure().silhouette == pytest.approx(silhouette_by_loops(scores[:, :2], subjects))


def test_subjects_of_one_window_each_have_silhouette_zero() -> None:
    assert subject_silhouette(np.random.rand(5, 2), np.arange(5), seed=0) == 0.0  # noqa: NPY002


def test_silhouette_of_many_windows_is_that_of_a_sample() -> None:
    rng = np.random.default_rng(0)
    subjects = np.repeat([0, 1], 3000)
    points = rng.standard_normal((6000, 2)) + 20 * subjects[:, np.newaxis]
    assert subject_silhouette(points, subjects, seed=0) == pytest.approx(0.94, abs=0.02)


def test_densities_integrate_to_one() -> None:
    for component in figure().components:
        for density in (component.afib, component.normal):
            assert len(component.grid) == len(density) == 100
            assert np.trapezoid(density, component.grid) == pytest.approx(1, abs=0.02)


def test_sample_is_seeded_and_has_every_subject() -> None:
    found = figure(sample=20)
    assert len(found.x) == len(found.y) == len(found.afib) == 20
    assert set(found.subject) == set(range(8))
    assert found == figure(sample=20)
    assert found.x != figure(sample=20, seed=2).x


def test_subjects_may_be_any_names() -> None:
    features, subjects, afib = made()
    names = [("afdb", f"0{number}") for number in subjects]
    found = pca_data("deaps", "afdb", features, names, afib, seed=1)
    assert found.silhouette == figure().silhouette


def test_features_on_a_line_have_one_component() -> None:
    _, subjects, afib = made()
    line = np.outer(np.linspace(-1, 1, N), np.ones(D))
    found = pca_data("deaps", "afdb", line, subjects, afib, seed=1)
    assert len(found.components) == 1
    assert set(found.y) == {0.0}


def test_one_subject_alone_is_refused() -> None:
    features, subjects, afib = made()
    with pytest.raises(NotShownError, match="1 subjects; at least two are needed"):
        pca_data("deaps", "afdb", features, np.zeros_like(subjects), afib, seed=1)


def test_one_class_alone_is_refused() -> None:
    features, subjects, afib = made()
    with pytest.raises(NotShownError, match="0 of 400 windows are AFib"):
        pca_data("deaps", "afdb", features, subjects, np.zeros_like(afib), seed=1)


def test_unknown_features_are_refused() -> None:
    features, subjects, afib = made()
    features[3, 4] = np.nan
    with pytest.raises(ValueError, match="not all finite"):
        pca_data("deaps", "afdb", features, subjects, afib, seed=1)


def test_a_collapsed_representation_is_refused() -> None:
    _, subjects, afib = made()
    with pytest.raises(NotShownError, match="no component"):
        pca_data("deaps", "afdb", np.ones((N, D)), subjects, afib, seed=1)
