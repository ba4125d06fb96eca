"""A measured figure beside its bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: what was measured, and what it should be.

    ``higher`` says whether more is better; ``seen`` holds the raw measurements.
    """

    name: str
    value: float
    unit: str
    bar: float
    beyond: float | None = None
    higher: bool = True
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Return which of the two levels is reached."""
        if self.beyond is not None and self._reaches(self.beyond):
            return "beyond"
        return "met" if self._reaches(self.bar) else "MISSED"

    def _reaches(self, level: float) -> bool:
        return self.value >= level if self.higher else self.value <= level


Measure = Callable[[Path], list[Figure]]
"""Takes an empty folder for its files and returns what it measured."""
