"""Files that appear whole or not at all: temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from storage.layout import TEMPORARY_SUFFIX


@contextlib.contextmanager
def replacing(path: Path, *, mode: int | None = None, fsync_folder: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, and rename it to ``path`` at the end.

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
    """Raise OSError if no file can be made beside ``path``: before hours of work, not after."""
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
