"""Arrays as the plain numbers of a JSON document."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_DIGITS = 6
"""Significant digits, more than any drawing shows."""


def plain_floats(values: ArrayLike, *, digits: int = _DIGITS) -> tuple[float, ...]:
    """Return values as floats of some significant digits.

    Raises
    ------
    ValueError
        If one of them is not finite: JSON has no such number.
    """
    array = np.asarray(values, np.float64)
    if unfit := int(np.count_nonzero(~np.isfinite(array))):
        raise ValueError(f"{unfit} of {array.size} values are not finite; leave them out first")
    return tuple(float(f"{value:.{digits}g}") for value in array.tolist())
