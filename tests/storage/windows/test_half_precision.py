from __future__ import annotations

import numpy as np
import pytest

from storage.window_store import widen

ALL = np.arange(2**16, dtype=np.uint16).view(np.float16)


def test_every_finite_value_is_exact() -> None:
    finite = ALL[np.isfinite(ALL)]
    out = np.empty(finite.shape, np.float32)
    widen(finite, out)
    assert np.array_equal(out.view(np.uint32), finite.astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -np.nan])
def test_values_that_are_not_finite_survive(value: float) -> None:
    half = np.array([1, value, -2], np.float16)
    out = np.empty(3, np.float32)
    widen(half, out)
    assert np.array_equal(out, half.astype(np.float32), equal_nan=True)


def test_nothing_at_all_is_fine() -> None:
    widen(np.empty((0, 4), np.float16), np.empty((0, 4), np.float32))
