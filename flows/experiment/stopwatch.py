"""How long each stage took."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from deaps.evaluation import Stage


class Stopwatch:
    """Times of stages, in the order in which they ended."""

    def __init__(self, earlier: Iterable[Stage] = ()) -> None:
        self.stages: list[Stage] = list(earlier)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        started = time.perf_counter()
        yield
        self.stages.append(Stage(name=name, seconds=time.perf_counter() - started))
