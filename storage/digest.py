"""Digests of files and values: outputs are named after what made them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from os import PathLike
from typing import Any


def file_sha256(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file's content, 64 hexadecimal digits.

    A pipe or a device, which may never end, is an OSError.
    """
    with open(path, "rb", opener=_open_at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no plain file", str(path))
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def digest_of(*parts: Any) -> str:
    """Return the SHA-256 of ``parts`` as canonical JSON, 64 hexadecimal digits.

    Parts are values that JSON can hold (tuples count as lists). The order of dictionary keys
    has no influence; every other order has.
    """
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of ``value``: sorted keys, no spaces, ASCII.

    Raises
    ------
    ValueError
        For NaN and infinities, which JSON cannot hold.
    TypeError
        For anything else that JSON cannot hold.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
