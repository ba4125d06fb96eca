"""Progress of a stage: a bar in the terminal, lines elsewhere, and a bar in Prefect's pages."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self
from uuid import UUID

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from flows.runtime.console import console, log_line, notify
from flows.runtime.prefect_glue import move_progress, publish_progress

_ARTIFACT_EVERY_S = 10.0
_LINE_EVERY_S = 15.0


class StageProgress:
    """Counts done items of one stage; may be advanced from any thread.

    In a terminal it is a bar on standard error, elsewhere a line now and then.
    """

    def __init__(self, title: str, total: int, *, key: str) -> None:
        self.title, self.total, self.done = title, total, 0
        self._key = key
        self._lock = threading.Lock()
        self._console = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._last_artifact = self._last_line = self._started = time.monotonic()
        self._artifact: UUID | None = None

    def __enter__(self) -> Self:
        self._artifact = publish_progress(self._key)
        self._bar.start()
        self._row = self._bar.add_task(self.title, total=self.total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        self._update_artifact()

    def advance(self, items: int, remark: str = "") -> None:
        """Count ``items`` more as done; ``remark`` follows the title."""
        with self._lock:
            self.done += items
            title = f"{self.title} {remark}".rstrip()
            self._bar.update(self._row, advance=items, description=title)
            now = time.monotonic()
            if now - self._last_line > _LINE_EVERY_S:
                self._last_line = now
                # A terminal has the bar; Prefect's log gets the line in any case.
                print_line = log_line if self._console.is_terminal else notify
                print_line(f"{title}: {self.done:,} of {self.total:,}{self._end()}")
            if now - self._last_artifact > _ARTIFACT_EVERY_S:
                self._last_artifact = now
                self._update_artifact()

    def stop(self) -> None:
        """End the bar before its block ends, so that a last line stands below it."""
        self._bar.stop()

    def move(self, done: int, total: int) -> None:
        """Set how many are done, and of how many, where that is known only now."""
        self.total = total
        self._bar.update(self._row, total=total)
        self.advance(done - self.done)

    def _end(self) -> str:
        """Return how long the rest takes, where it can be estimated."""
        elapsed = time.monotonic() - self._started
        if not 0 < self.done < self.total:
            return ""
        rest_s = elapsed / self.done * (self.total - self.done)
        return f", {rest_s / 60:.0f} min to go" if rest_s >= 90 else f", {rest_s:.0f} s to go"

    def _update_artifact(self) -> None:
        move_progress(self._artifact, 100.0 * self.done / max(1, self.total))
