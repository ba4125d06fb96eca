"""Digests of files and values: outputs are named after what made them."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any


def file_sha256(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file's content, 64 hexadecimal digits."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
