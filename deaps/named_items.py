"""Things that are chosen by name: those of this project, and those that other packages add."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from storage.errors import DeapsError

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """Items by name, in the order in which they were added.

    Packages add theirs through an entry-point group. Each entry point names a module that
    registers something when it is imported; that happens when a name is asked for that is not
    there, or all names are.

    Parameters
    ----------
    kind
        What an item is, for messages: ``method``.
    group
        Name of the entry-point group: ``deaps.methods``.
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind, self.group = kind, group
        self._items: dict[str, Item] = {}
        self._packages_loaded = False

    def add(self, name: str, item: Item) -> Item:
        """Add an item and return it.

        Raises
        ------
        DeapsError
            If the name is taken.
        """
        if name in self._items:
            raise DeapsError(f"there is a {self.kind} {name!r} already; choose another name")
        self._items[name] = item
        return item

    def remove(self, name: str) -> None:
        """Take an item out, so that its name can be used again."""
        del self._items[name]

    def find(self, name: str) -> Item:
        """Return the item of that name.

        Raises
        ------
        DeapsError
            If there is none; the message suggests the nearest name and lists all.
        """
        if name not in self._items:
            self._load_packages()
        if name not in self._items:
            raise DeapsError(f"no {self.kind} {name!r}{did_you_mean(name, self._items)}")
        return self._items[name]

    def all(self) -> dict[str, Item]:
        """Return all items by name."""
        self._load_packages()
        return dict(self._items)

    def _load_packages(self) -> None:
        if self._packages_loaded:
            return
        for entry in entry_points(group=self.group):
            try:
                entry.load()
            except Exception as error:  # whatever a foreign package raises when it is imported
                raise DeapsError(
                    f"{self.kind} {entry.name!r} cannot be loaded from {entry.value} "
                    f"({type(error).__name__}: {error}); mend or uninstall that package"
                ) from error
        self._packages_loaded = True


def import_object(home: str) -> Any:
    """Return what ``module:name`` refers to."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def did_you_mean(word: str, possible: Iterable[str]) -> str:
    """Return the end of a message on an unknown word: the nearest one, and all possible ones."""
    names = list(possible)
    close = get_close_matches(word.lower(), names, n=1)
    listed = f"possible: {', '.join(names)}"
    return f": did you mean {close[0]!r}? ({listed})" if close else f" ({listed})"
