"""Paths in the store, and safe file names for data sets and recordings of any name."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from storage.errors import DeapsError

INDEX_NAME = "index.duckdb"
DIGEST_SUFFIX = ".sha256"
WAL_SUFFIX = ".wal"
LOCK_NAME = ".lock"
WRITERS_LOCK_NAME = ".writers.lock"
TRAINER_LOCK_NAME = ".lock"
STEPS_LOCK_NAME = ".steps.lock"
IN_PROCESS_MARK = ".in-process"
STORE_ID_NAME = "store-id"
CROISSANT_NAME = "croissant.json"
WINDOWS_FOLDER = "windows"
RUNS_FOLDER = "runs"
CHECKPOINTS_FOLDER = "checkpoints"
REPORTS_FOLDER = "reports"
LOGS_FOLDER = "logs"
RUN_NAME = "run.json"
RESULTS_NAME = "results.parquet"
TEMPORARY_SUFFIX = ".tmp"
SYNTHETIC_NAME = "SYNTHETIC.txt"
"""File in the folder of a data set that ``deaps synth`` wrote."""

_SLUG_LENGTH = 64
_CLEAN = re.compile(r"[a-z0-9][a-z0-9_-]*")
_LOOKS_HASHED = re.compile(r"-[0-9a-f]{12}\Z")
_DIGEST = re.compile(r"[0-9a-f]{8,64}")
_GLOB_CHARACTERS = "*?[\\"


def index_path(root: Path) -> Path:
    """Return the path of a store's published index."""
    return root / INDEX_NAME


def index_digest_path(index: Path) -> Path:
    """Return the file beside an index that holds its SHA-256."""
    return index.with_name(index.name + DIGEST_SUFFIX)


def index_wal_path(index: Path) -> Path:
    """Return the file beside an index in which DuckDB logs what a writer changes."""
    return index.with_name(index.name + WAL_SUFFIX)


def window_path(dataset: str, name: str, digest: str) -> str:
    """Return the path of a recording's window file, relative to the store.

    Data set and recording may have any name: see `slug`.
    """
    if not _DIGEST.fullmatch(digest):
        message = f"digest of {dataset}/{name} is {digest!r}; expected 8 to 64 hexadecimal digits"
        raise ValueError(message)
    return f"{WINDOWS_FOLDER}/{slug(dataset)}/{slug(name)}/{digest}.parquet"


def slug(name: str) -> str:
    """Return a file name for ``name``: the name itself if it is safe, else similar text and a hash.

    The result has only a-z, 0-9, ``_`` and ``-``, so it is never a path, a pattern, a hidden
    file or SQL. Two names never share a file name, even if the file system ignores case.
    """
    if len(name) <= _SLUG_LENGTH and _CLEAN.fullmatch(name) and not _LOOKS_HASHED.search(name):
        return name
    similar = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: _SLUG_LENGTH - 13]
    encoded = name.encode("utf-8", "surrogatepass")
    return f"{similar or 'x'}-{hashlib.sha256(encoded).hexdigest()[:12]}"


def resolve_root(root: Path | str) -> Path:
    """Return the store's absolute path; refuse one that DuckDB would read as a pattern.

    DuckDB reads every file name as a pattern, and cannot quote one.
    """
    resolved = Path(root).resolve()
    bad = sorted({c for c in str(resolved) if c in _GLOB_CHARACTERS or ord(c) < ord(" ")})
    if bad:
        message = (
            f"the store's path {str(resolved)!r} has {bad}, which DuckDB reads as a pattern; "
            "choose a folder without * ? [ \\ and control characters"
        )
        raise DeapsError(message)
    return resolved


def is_temporary(path: Path) -> bool:
    """Return whether ``path`` is named like a file that a writer has not finished."""
    endings = (TEMPORARY_SUFFIX, TEMPORARY_SUFFIX + WAL_SUFFIX)
    return path.name.startswith(".") and path.name.endswith(endings)
