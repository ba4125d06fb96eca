"""Which recording a name in a table means, however it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import PurePosixPath

_SUFFIXES = (
    ".edf", ".bdf", ".gdf", ".vhdr", ".fif", ".hea", ".dat", ".mat", ".atr", ".eeg", ".vmrk",
)  # fmt: skip


class FileNames:
    """Recordings below a folder, found by path or name, with any ending or none, in any case."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_key: dict[str, set[str]] = {}
        for path in paths:
            for key in _keys(path):
                self._by_key.setdefault(key, set()).add(path)
        self._paths = {path for found in self._by_key.values() for path in found}

    def find(self, text: str) -> str | None:
        """Return the recording that is meant; None where there is none, or more than one."""
        name = _plain(text)
        if name in self._paths:
            return name
        if not name or ".." in PurePosixPath(name).parts:
            return None
        for key in _keys(name):
            found = self._by_key.get(key, set())
            if len(found) == 1:
                return next(iter(found))
        return None

    def nearest(self, text: str) -> str | None:
        """Return the recording whose name is most like a text that means none."""
        stems = {_stem(PurePosixPath(path).name.lower()): path for path in sorted(self._paths)}
        near = get_close_matches(_stem(PurePosixPath(_plain(text)).name.lower()), stems, n=1)
        return stems[near[0]] if near else None


def same_file(text: str, path: str) -> bool:
    """Return whether a text means the file at ``path``, but for its ending, slashes and case."""
    return _stem(_plain(text).lower()) == _stem(path.lower())


def _plain(text: str) -> str:
    """Return a path with slashes, without a dot or a slash before it."""
    return text.strip().replace("\\", "/").removeprefix("./").lstrip("/")


def _keys(path: str) -> Iterator[str]:
    """Yield what a recording may be called, the most exact first."""
    lower = path.lower()
    yield lower
    yield _stem(lower)
    name = PurePosixPath(lower).name
    yield f"*/{name}"
    yield f"*/{_stem(name)}"


def _stem(name: str) -> str:
    """Return a name without the ending of a recording; any other dot is part of the name."""
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name
