"""The end of a file that another process may be writing."""

from __future__ import annotations

import os
from pathlib import Path


def read_tail(path: Path, most_bytes: int) -> list[bytes]:
    """Return the last lines of a file, of at most so many bytes, the first one whole.

    Where the file cannot be read there are none.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            start = stream.seek(max(0, size - most_bytes))
            lines = stream.read().splitlines()
    except OSError:
        return []
    return lines[1:] if start else lines
