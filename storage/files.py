"""Files and folders of the store: names, digests, and writing that a kill cannot tear.

A path below the store's root is made here and nowhere else. Whatever is derived is named by a
digest of what made it, written under a temporary name, synced, and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
import uuid
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

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

_verified: set[tuple[str, int, int, int]] = set()
"""Index files that this process has verified: path, inode, size and time."""


def index_path(root: Path) -> Path:
    """Return the path of a store's published index."""
    return root / INDEX_NAME


def index_digest_path(index: Path) -> Path:
    """Return the file next to an index that holds its SHA-256."""
    return index.with_name(index.name + DIGEST_SUFFIX)


def index_wal_path(index: Path) -> Path:
    """Return the file next to an index in which DuckDB logs what a writer changes."""
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


@contextlib.contextmanager
def replacing(path: Path, *, mode: int | None = None, fsync_folder: bool = True) -> Iterator[Path]:
    """Yield a temporary path next to ``path``, and rename it to ``path`` at the end.

    ``mode`` takes permissions away and gives none.

    If the block raises, the temporary file is removed and ``path`` stays as it was. A killed
    process leaves only the temporary file, which readers ignore and ``deaps gc`` removes.
    Without ``fsync_folder`` a power cut soon after may lose the new name, but it never leaves
    half a file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Only the start of the name is used: the whole could exceed the 255 bytes of a file name.
    temporary = path.with_name(f".{path.name[:80]}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")
    try:
        yield temporary
        if mode is not None:  # the umask has decided who may read it
            temporary.chmod(temporary.stat().st_mode & mode)
        fsync_path(temporary)
        temporary.replace(path)
    except BaseException as error:
        for leftover in (temporary, temporary.with_name(temporary.name + ".wal")):
            leftover.unlink(missing_ok=True)
        name_file(error, path)
        raise
    if fsync_folder:
        fsync_path(path.parent)


def require_writable(path: Path) -> None:
    """Raise OSError if no file can be made next to ``path``: before hours of work, not after."""
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
    probe = path.with_name(f".{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")
    probe.touch()
    probe.unlink()


def name_file(error: BaseException, path: Path) -> None:
    """Let an error of the system say which file it is about: a full disk names none."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        error.filename = str(path)


def fsync_path(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def published_digests(index: Path) -> list[str]:
    """Return the digests that an index may have; none if it was published without one."""
    try:
        return index_digest_path(index).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def write_digests(index: Path, digests: list[str]) -> None:
    """Write the digests that an index may have."""
    with replacing(index_digest_path(index)) as temporary:
        temporary.write_text("".join(f"{digest}\n" for digest in digests), encoding="ascii")


def is_as_published(index: Path, *, content: Path | None = None) -> bool:
    """Return whether an index has the bytes that were published; True where nobody noted them.

    A file is read once for each process. ``content`` is a copy of the index to read instead.
    """
    stat = index.stat()
    key = (str(index), stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key in _verified:
        return True
    # Read first: a publication in between may name the digests of newer indexes only.
    digest = file_sha256(content or index)
    digests = published_digests(index)
    if digests and digest not in digests:
        return False
    _verified.add(key)
    return True


def store_id(root: Path) -> str:
    """Return the id of a store; it is made at the first call, and never changes."""
    path = root / STORE_ID_NAME
    if (known := read_store_id(root)) is not None:
        return known
    root.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f".{STORE_ID_NAME}.{uuid.uuid4().hex}.tmp")
    own.write_text(uuid.uuid4().hex + "\n", encoding="ascii")
    try:
        os.link(own, path)  # fails if another process was first, whose id then stands
    except FileExistsError:
        pass
    finally:
        own.unlink()
    return path.read_text(encoding="ascii").strip()


def read_store_id(root: Path) -> str | None:
    """Return the id of the store in ``root``, None if there is none or no store at all."""
    try:
        return (root / STORE_ID_NAME).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def find_store(wanted: str, *roots: Path) -> Path:
    """Return the first of ``roots`` that is the store with the id ``wanted``.

    Raises
    ------
    DeapsError
        If none is.
    """
    for root in roots:
        if read_store_id(root) == wanted:
            return root
    seen = "; ".join(
        f"{root}: {read_store_id(root) or 'no store'}" for root in dict.fromkeys(roots)
    )
    raise DeapsError(
        f"this machine does not see the store {wanted} ({seen}); mount it here, at the same path "
        "or where store.root says"
    )
