"""Methods by name: DEAPS, the five it is compared with, and those of other packages.

What names, plans and describes a method stands here, without torch, which takes seconds to
import. The rest is on its class, in `deaps.methods`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from deaps.named_items import Registry, import_object
from storage.errors import DeapsError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from deaps.config import TrainingSettings

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
BYOL = register_method("byol", "deaps.methods.byol:Byol", label="BYOL")
PCLR = register_method("pclr", "deaps.methods.pclr:Pclr", label="PCLR")
CLOCS = register_method("clocs", "deaps.methods.clocs:Clocs", label="CLOCS")
MIXING_UP = register_method("mixing-up", "deaps.methods.mixing_up:MixingUp", label="Mixing-Up")
TF_C = register_method(
    "tf-c", "deaps.methods.tfc:Tfc", label="TF-C", iterations=attrgetter("tfc_iterations")
)

PAPER_METHODS: tuple[str, ...] = tuple(
    entry.name for entry in (DEAPS, BYOL, PCLR, CLOCS, MIXING_UP, TF_C)
)
"""The methods that the paper compares, in the order of the report."""
