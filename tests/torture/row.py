"""Rows of the table: a fault, how often it is tried, and what has to hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Attempt = Callable[[np.random.Generator, int, Path], None]
"""Try a fault once, in a folder of its own; raise BrokenError if something does not hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of fault. ``weight`` is how many seconds a try takes, about."""

    name: str
    fault: str
    tries: int
    holds: str
    attempt: Attempt
    weight: float = 1.0
    in_tests: bool = True
    """Whether ``make test`` takes some of it."""
