"""Numbers in headers, read strictly: no NaN, no infinity, no underscores, no leftovers."""

from __future__ import annotations

import math
import re

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
