"""Bugs to plant in the program, each of which the harness has to catch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flows.ingest.publication
import flows.ingest.recording
import storage.atomic
import storage.publish
import storage.windows.file

VARIABLE = "TORTURE_BUG"

BUGS = ("skip an fsync", "publish before the last file", "forget the rename", "drop one row")
"""What `python -m tests.torture --plant` tries: with each of them a row has to fail."""


@contextmanager
def bug() -> Iterator[None]:
    """Plant the bug that the environment names, in this process."""
    name = os.environ.get(VARIABLE, "")
    if name:
        _PLANT[name]()
    yield


def _skip_fsync() -> None:
    storage.atomic.fsync_path = lambda path: None


def _publish_before_the_last_file() -> None:
    write = flows.ingest.recording.write_window_file
    delayed: list[tuple[Any, ...]] = []

    def late(path: Path, *rest: Any) -> Any:
        row = write(path, *rest)
        if not delayed:
            delayed.append((path, path.read_bytes()))
            path.unlink()
        return row

    flows.ingest.recording.write_window_file = late
    storage.publish.check_rows = lambda *_: None
    publish = flows.ingest.publication.publish

    def then_write(*args: Any, **options: Any) -> Any:
        for path, content in delayed:
            path.write_bytes(content)  # the index reads it, so it is there for a moment
        snapshot = publish(*args, **options)
        for path, _ in delayed:
            path.unlink()
        return snapshot

    flows.ingest.publication.publish = then_write


def _forget_the_rename() -> None:
    """Write window files in place: a kill leaves half of one under its final name."""

    @contextmanager
    def in_place(path: Path, **_: Any) -> Iterator[Path]:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path

    storage.windows.file.replacing = in_place


def _drop_one_row() -> None:
    fill = storage.publish.fill_index

    def dropping(connection: Any, root: Path, content: Any, ids: Any) -> None:
        fill(connection, root, content, ids)
        connection.execute("DELETE FROM windows WHERE rowid = 1")

    storage.publish.fill_index = dropping
    storage.publish.check_index = lambda _: None


_PLANT = {
    "skip an fsync": _skip_fsync,
    "publish before the last file": _publish_before_the_last_file,
    "forget the rename": _forget_the_rename,
    "drop one row": _drop_one_row,
}
