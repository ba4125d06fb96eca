"""Samples of three bytes, which numpy has no type for: those of BDF and of WFDB's format 24."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def signed_24_bits(data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the signed numbers in ``data``, the lowest byte first."""
    padded = np.zeros((data.size // 3, 4), np.uint8)
    padded[:, 1:] = data.reshape(-1, 3)
    numbers = padded.reshape(-1).view("<i4")
    numbers >>= 8  # the sign comes along
    return numbers
