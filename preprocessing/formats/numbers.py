"""Numbers as texts and bytes carry them."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from preprocessing.recording import UnreadableRecordingError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_PADDING = " \0"


def parse_number(text: str, what: str) -> float:
    """Return a finite number; raise UnreadableRecordingError for anything else.

    The error does not quote the text: in a header that is out of place, it may be a name.
    """
    stripped = text.strip(_PADDING)
    if _NUMBER.fullmatch(stripped) and math.isfinite(number := float(stripped)):
        return number
    raise UnreadableRecordingError(f"{what} is {'empty' if not stripped else 'not a number'}")


def parse_whole(text: str, what: str) -> int:
    """Return a whole number; raise UnreadableRecordingError for anything else."""
    stripped = text.strip(_PADDING)
    if _WHOLE.fullmatch(stripped):
        return int(stripped)
    raise UnreadableRecordingError(f"{what} is {'empty' if not stripped else 'not a whole number'}")


def signed_24_bits(data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the signed numbers in ``data``, the lowest byte first."""
    padded = np.zeros((data.size // 3, 4), np.uint8)
    padded[:, 1:] = data.reshape(-1, 3)
    numbers = padded.reshape(-1).view("<i4")
    numbers >>= 8  # the sign comes along
    return numbers
