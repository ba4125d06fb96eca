from __future__ import annotations

import numpy as np

from storage.window_store import dataset_scaling, pooled_moments


def test_pooled_moments_are_those_of_all_samples_together() -> None:
    rng = np.random.default_rng(3)
    groups = [rng.normal(m, s, n) for m, s, n in [(0, 1, 100), (5, 0.2, 1_000), (-1, 3, 17)]]
    moments = [np.array([f(g) for g in groups], float) for f in (len, np.mean, np.std)]
    together = np.concatenate(groups)
    assert np.allclose(pooled_moments(*moments), (together.mean(), together.std()))


def test_recordings_without_moments_neither_count_nor_get_values() -> None:
    unknown = np.array([1.0, np.nan])
    scaling = dataset_scaling(np.array(["a", "a"], object), unknown, unknown, unknown)
    assert scaling.gain[0] == 1
    assert np.isnan(scaling.gain[1])


def test_a_data_set_of_constants_gives_zeros() -> None:
    ones, zeros = np.ones(1), np.zeros(1)
    scaling = dataset_scaling(np.array(["a"], object), ones, ones, zeros)
    assert scaling.gain[0] == scaling.shift[0] == 0
