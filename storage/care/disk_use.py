"""How much disk space each part of a store takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from storage.layout import INDEX_NAME

INDEX_PART = "index"
OTHER_PART = "other"


def disk_use(root: Path) -> dict[str, int]:
    """Return the bytes of each part: the index, every folder, and all other files.

    Runs link the index; it counts once, as the index.
    """
    seen: set[tuple[int, int]] = set()
    parts: dict[str, int] = {}
    for name, path in _parts(root):
        parts[name] = parts.get(name, 0) + sum(_new_sizes(path, seen))
    return parts


def _parts(root: Path) -> list[tuple[str, Path]]:
    """Return the entries of the store, the index first, so that links to it do not count."""
    parts = [(_part(path), path) for path in sorted(root.iterdir())]
    return sorted(parts, key=lambda part: (part[0] != INDEX_PART, part[0] == OTHER_PART))


def _part(path: Path) -> str:
    if path.name == INDEX_NAME:
        return INDEX_PART
    return path.name if path.is_dir() else OTHER_PART


def _new_sizes(path: Path, seen: set[tuple[int, int]]) -> Iterator[int]:
    for stat in _stats(path):
        if stat.st_nlink > 1:
            if (key := (stat.st_dev, stat.st_ino)) in seen:
                continue
            seen.add(key)
        yield stat.st_size


def _stats(path: Path) -> Iterator[os.stat_result]:
    """Yield the stat of a file, or of every file below a folder, without following links."""
    if not path.is_dir():
        with suppress(OSError):  # it was removed meanwhile
            yield path.lstat()
        return
    folders = [str(path)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False)
