"""Things that are chosen by name: those of this project, and those that other packages add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import ValidationError

from storage.errors import DeapsError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from deaps.config import TrainingSettings


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


METHODS: Registry[MethodEntry] = Registry("method", "deaps.methods")
"""All methods; those of other packages join through the entry-point group ``deaps.methods``."""


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """What names, plans and describes a method; the rest is on its class."""

    name: str
    """Name on the command line, in settings, in the index and of run folders."""

    label: str
    """Name for people."""

    home: str | type[Any]
    """Its class, or ``module:Class``, which is imported when the method is first built."""

    iterations: Callable[[TrainingSettings], int]
    """How many steps it trains."""

    settings: type[BaseModel] | None
    """Model of its table ``[methods.NAME]``; None if it has no settings of its own."""

    def load(self) -> type[Any]:
        """Return its class, a subclass of `deaps.methods.interface.Method`."""
        return import_object(self.home) if isinstance(self.home, str) else self.home

    def own_settings(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of ``[methods.NAME]`` with the defaults filled in.

        Raises
        ------
        DeapsError
            If the table does not fit.
        """
        if self.settings is None:
            if table:
                raise DeapsError(f"method {self.name!r} has no settings in [methods.{self.name}]")
            return {}
        try:
            return self.settings.model_validate(table).model_dump(mode="json")
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise DeapsError(f"[methods.{self.name}] {'; '.join(problems)}") from None


def register_method(
    name: str,
    home: str | type[Any],
    *,
    label: str | None = None,
    iterations: Callable[[TrainingSettings], int] = attrgetter("iterations"),
    settings: type[BaseModel] | None = None,
) -> MethodEntry:
    """Add a method and return its entry.

    Parameters
    ----------
    name
        Name in settings and on the command line.
    home
        A subclass of `deaps.methods.interface.Method`, or where it is: ``module:Class``. With the
        latter, torch is not imported before the method is built.
    label
        Name for people; by default the name.
    iterations
        How many steps it trains; by default ``training.iterations``.
    settings
        Model of the table ``[methods.NAME]``. The method finds the table's values, defaults
        filled in, in `ModelSettings.own`.

    Raises
    ------
    DeapsError
        If the name is taken.
    """
    entry = MethodEntry(name, label or name, home, iterations, settings)
    return METHODS.add(name, entry)


def find_method(name: str) -> MethodEntry:
    """Return the method of that name.

    Raises
    ------
    DeapsError
        If there is none; the message suggests the nearest name and lists all.
    """
    return METHODS.find(name)


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, the paper's first."""
    return tuple(METHODS.all())


DEAPS = register_method("deaps", "deaps.methods.deaps:Deaps", label="DEAPS")
BYOL = register_method("byol", "deaps.methods.deaps:Byol", label="BYOL")
PCLR = register_method("pclr", "deaps.methods.contrastive:Pclr", label="PCLR")
CLOCS = register_method("clocs", "deaps.methods.contrastive:Clocs", label="CLOCS")
MIXING_UP = register_method("mixing-up", "deaps.methods.contrastive:MixingUp", label="Mixing-Up")
TF_C = register_method(
    "tf-c", "deaps.methods.tfc:Tfc", label="TF-C", iterations=attrgetter("tfc_iterations")
)

PAPER_METHODS: tuple[str, ...] = tuple(
    entry.name for entry in (DEAPS, BYOL, PCLR, CLOCS, MIXING_UP, TF_C)
)
"""The methods that the paper compares, in the order of the report."""
