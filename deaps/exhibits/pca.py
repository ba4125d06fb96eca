"""Principal components of a representation: how far subjects and episodes lie apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score, silhouette_score

from deaps.evaluation.document import Component, Pca
from deaps.exhibits import NotShownError
from deaps.exhibits.density import common_grid, density
from deaps.exhibits.groups import group_numbers, stratified_sample
from deaps.exhibits.json_numbers import plain_floats

COMPONENTS = 6
_COMPARED = 4000
"""Windows between which the silhouette takes all distances."""

_ROUNDING = 1e-10
"""Share of the variance below which a component is rounding."""


def pca_exhibit(
    representation: str,
    dataset: str,
    features: NDArray[np.floating],
    subjects: Sequence[Hashable] | NDArray[np.generic],
    afib: NDArray[np.bool_],
    *,
    seed: int,
    sample: int = 1500,
) -> Pca:
    """Return the first six principal components, with a number for each of the paper's figures.

    As in the paper, features are centred and not scaled, so what varies most counts most; scale
    features that have units before. There are fewer components where features vary in fewer
    directions.

    Parameters
    ----------
    features
        (n, d), finite.
    subjects, afib
        (n,): whose window it is, and whether it is AFib (else normal).
    seed, sample
        Of the windows that are drawn as points; every subject is among them.

    Raises
    ------
    NotShownError
        With one subject or one class alone, or with features that do not vary.
    """
    numbers = group_numbers(subjects)
    _check(features, numbers, afib)
    scores, explained = principal_components(features)
    drawn = stratified_sample(numbers, sample, seed=seed)
    shown = scores[drawn, :2]
    return Pca(
        representation=representation,
        dataset=dataset,
        silhouette=subject_silhouette(scores[:, :2], numbers, seed=seed),
        components=tuple(_component(*pair, afib) for pair in zip(scores.T, explained, strict=True)),
        x=plain_floats(shown[:, 0]),
        y=plain_floats(shown[:, 1] if shown.shape[1] == 2 else np.zeros(len(shown))),
        subject=tuple(numbers[drawn].tolist()),
        afib=tuple(afib[drawn].tolist()),
    )


def principal_components(
    features: NDArray[np.floating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the windows' components, (n, at most 6), and their shares of the variance."""
    n = min(COMPONENTS, len(features) - 1, features.shape[1])
    pca = PCA(n, svd_solver="full").fit(features.astype(np.float64))
    kept = pca.explained_variance_ratio_ > _ROUNDING
    scores = pca.transform(features.astype(np.float64))
    return scores[:, kept], pca.explained_variance_ratio_[kept]


def subject_silhouette(
    points: NDArray[np.float64], subjects: NDArray[np.int64], *, seed: int
) -> float:
    """Return the mean silhouette of points by subject, over at most 4,000 windows.

    A subject with one window counts 0, as in Rousseeuw (1987).
    """
    drawn = stratified_sample(subjects, _COMPARED, seed=seed)
    if len(np.unique(subjects[drawn])) == len(drawn):
        return 0.0
    return float(silhouette_score(points[drawn], subjects[drawn]))


def ks_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the largest distance of two samples' distribution functions."""
    # The distance alone is used; "asymp" spares the exact p-value's time.
    return float(ks_2samp(a, b, method="asymp").statistic)


def folded_auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, of whichever direction gives 0.5 or more."""
    auc = float(roc_auc_score(positive, scores))
    return max(auc, 1.0 - auc)


def _component(scores: NDArray[np.float64], explained: float, afib: NDArray[np.bool_]) -> Component:
    grid = common_grid(scores[afib], scores[~afib])
    return Component(
        explained=float(explained),
        ks=ks_distance(scores[afib], scores[~afib]),
        auc=folded_auc(scores, afib),
        grid=plain_floats(grid),
        afib=plain_floats(density(scores[afib], grid)),
        normal=plain_floats(density(scores[~afib], grid)),
    )


def _check(
    features: NDArray[np.floating], subjects: NDArray[np.int64], afib: NDArray[np.bool_]
) -> None:
    if not len(features) == len(subjects) == len(afib):
        sizes = f"{len(features)}, {len(subjects)} and {len(afib)}"
        raise ValueError(f"features, subjects and afib have {sizes} rows; expected as many each")
    if not np.isfinite(features).all():
        raise ValueError("features are not all finite; fill or leave out unknown ones first")
    if len(np.unique(subjects)) < 2:
        raise NotShownError(f"{len(np.unique(subjects))} subjects; a comparison takes two")
    if afib.all() or not afib.any():
        raise NotShownError(f"{afib.sum()} of {len(afib)} windows are AFib; both kinds are needed")
    if np.ptp(features, axis=0).max() == 0:
        raise NotShownError("all windows have the same features; there is no component")
