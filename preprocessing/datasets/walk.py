"""The walk through a data set's folders, which follows links and keeps account of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

_SHOWN = 3
"""Folders outside that a warning names."""


@dataclass(slots=True)
class LinkAccount:
    """The links that a walk below ``root`` met.

    ``named`` are the roots that the user gave, resolved: what lies below one of them is inside.
    """

    root: Path
    named: tuple[Path, ...]
    _targets: dict[Path, Path | None] = field(default_factory=dict)
    _looping: set[Path] = field(default_factory=set)
    _listed: set[Path] = field(default_factory=set)

    def meet(self, link: Path, *, loops: bool = False) -> None:
        """Note one link, once however often it is met."""
        if link not in self._targets:
            self._targets[link] = _target_folder(link)
        if loops:
            self._looping.add(link)

    def meet_on_the_way(self, folder: Path) -> None:
        """Note the links among the folders from the root down to ``folder``."""
        if folder in self._listed:  # readers list a folder two or three times
            return
        self._listed.add(folder)
        way = _absolute(folder)
        while str(way).startswith(f"{self.root}{os.sep}"):
            if way.is_symlink():
                self.meet(way)
            way = way.parent

    def links(self) -> set[Path]:
        """Return the links that were followed."""
        return {link for link, to in self._targets.items() if to and link not in self._looping}

    def warnings(self) -> list[str]:
        """Return what a person should know: links to the outside, to nowhere, and in circles."""
        followed = {link: to for link, to in self._targets.items() if link not in self._looping}
        outside = Counter(to for to in followed.values() if to and not self._is_inside(to))
        dangling = [link for link, to in followed.items() if to is None]
        lines = []
        if outside:
            count = _links_lead(outside.total())
            lines.append(f"{count} outside the data roots, to {_places(outside)}: followed")
        if dangling:
            lines.append(self._with_example(dangling, "nowhere", "left out"))
        if self._looping:
            lines.append(self._with_example(self._looping, "back to a folder above", "left out"))
        return lines

    def _is_inside(self, target: Path) -> bool:
        return any(target.is_relative_to(root) for root in self.named)

    def _with_example(self, links: Iterable[Path], where: str, outcome: str) -> str:
        listed = sorted(links)
        example = str(listed[0].relative_to(self.root))
        return f"{_links_lead(len(listed))} {where}, e.g. {example!r}: {outcome}"


_account: ContextVar[LinkAccount | None] = ContextVar("link account", default=None)


@contextmanager
def accounting_links(root: Path, named: Iterable[Path]) -> Iterator[LinkAccount]:
    """Give an account of the links that `list_files` and `list_folders` meet below ``root``.

    Readers only list folders, so none of them can forget to keep the account.
    """
    account = LinkAccount(_absolute(root), tuple(path.resolve() for path in named))
    token = _account.set(account)
    try:
        yield account
    finally:
        _account.reset(token)


def list_files(folder: Path) -> list[str]:
    """Return the names of the files in ``folder``, in order; empty where it cannot be read.

    Links to files count as files.
    """
    return _names(folder, lambda entry: entry.is_file())


def list_folders(folder: Path) -> list[str]:
    """Return the names of the folders in ``folder``, in order; empty where it cannot be read.

    Links to folders count as folders, but not one that leads back to a folder above it.
    """
    above = cache(partial(_identities_above, folder))  # most folders have none below them

    def is_new(entry: os.DirEntry[str]) -> bool:
        if not entry.is_dir():
            return False
        if _identity(entry.stat()) not in above():
            return True
        if (account := _account.get()) is not None and entry.is_symlink():
            account.meet(_absolute(Path(entry.path)), loops=True)
        return False

    return _names(folder, is_new)


def _names(folder: Path, wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    account = _account.get()
    if account is not None:
        account.meet_on_the_way(folder)
    names = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_wanted = _holds(wanted, entry)
            if is_wanted:
                names.append(entry.name)
            if account is not None and entry.is_symlink():
                link = _absolute(Path(entry.path))
                if is_wanted or not link.exists():
                    account.meet(link)
    return sorted(names)


def _holds(wanted: Callable[[os.DirEntry[str]], bool], entry: os.DirEntry[str]) -> bool:
    try:
        return wanted(entry)
    except OSError:  # a link that leads to itself
        return False


def _identities_above(folder: Path) -> set[tuple[int, int]]:
    """Return what identifies ``folder`` and every folder above it on the way that was walked."""
    walked = _absolute(folder)
    identities = set()
    for path in (walked, *walked.parents):
        with suppress(OSError):
            identities.add(_identity(path.stat()))
    return identities


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _absolute(path: Path) -> Path:
    """Return the path from the top, its links kept: they are part of the way that was walked."""
    return Path(os.path.normpath(path.absolute()))


def _target_folder(link: Path) -> Path | None:
    """Return the folder that a link leads to, or that holds the file it leads to, or None."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # it leads nowhere, or to itself
        return None
    return target if target.is_dir() else target.parent


def _links_lead(n: int) -> str:
    return "1 link leads" if n == 1 else f"{n:,} links lead"


def _places(folders: Counter[Path]) -> str:
    shown = [f"{folder} ({n:,})" for folder, n in folders.most_common(_SHOWN)]
    more = len(folders) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more folders" if more else "")
