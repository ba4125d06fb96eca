"""A data set, or one part of it, as settings name it: ``cpsc2021`` or ``cpsc2021:set-I``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.errors import DeapsError
from storage.snapshot import sql_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class NoSuchPartError(DeapsError):
    """A data set or part that is not in the index; the message lists what is."""


@dataclass(frozen=True, slots=True)
class DataPart:
    """A data set and, unless all of it is meant, the value of its column ``split``."""

    dataset: str
    part: str | None = None

    @classmethod
    def parse(cls, text: str) -> DataPart:
        """Return what ``dataset`` or ``dataset:part`` names."""
        dataset, separator, part = text.partition(":")
        return cls(dataset, part if separator else None)

    def __str__(self) -> str:
        return self.dataset if self.part is None else f"{self.dataset}:{self.part}"

    def label(self, labels: Mapping[str, str]) -> str:
        """Return the name for people, given those of the data sets."""
        name = labels[self.dataset]
        return name if self.part is None else f"{name} ({self.part})"

    def condition(self) -> str:
        """Return the condition in SQL by which its rows are chosen from ``recordings``."""
        condition = f"dataset = {sql_literal(self.dataset)}"
        return (
            condition if self.part is None else f"{condition} AND split = {sql_literal(self.part)}"
        )


def condition_of(names: Iterable[str]) -> str:
    """Return the condition in SQL that chooses recordings of any of some data sets and parts."""
    return " OR ".join(DataPart.parse(name).condition() for name in names)


def require_parts(index: DuckDBPyConnection, names: Iterable[str], *, setting: str) -> None:
    """Check that the index has every data set and part that a setting names.

    Raises
    ------
    NoSuchPartError
        If it has not.
    """
    rows = index.execute("SELECT DISTINCT dataset, split FROM recordings ORDER BY ALL").fetchall()
    datasets = list(dict.fromkeys(dataset for dataset, _ in rows))
    for wanted in map(DataPart.parse, names):
        if wanted.dataset not in datasets:
            listed = ", ".join(map(repr, datasets)) or "no recordings"
            raise NoSuchPartError(f"{setting} has {wanted.dataset!r}; the index has {listed}")
        parts = [part for dataset, part in rows if dataset == wanted.dataset and part]
        if wanted.part is not None and wanted.part not in parts:
            listed = ", ".join(f"'{wanted.dataset}:{part}'" for part in parts) or "no parts"
            raise NoSuchPartError(f"{setting} has {str(wanted)!r}; {wanted.dataset} has {listed}")
