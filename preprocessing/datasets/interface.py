"""The one interface of a data set, and the walk through a folder that its readers share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from preprocessing.recording import CohortTables, FoundRecording, RawRecording


class DataSet(Protocol):
    """A data set: how its recordings are found, read and described.

    To add one, write a class with these members and name it in ``DATASETS``.
    """

    name: str
    """Name in the configuration (``data.<name>``), in the store and in the index."""

    title: str
    """Name that people know it by."""

    reads_channels: bool
    """Whether `read` uses the alias list of the settings; if not, a new list redoes nothing."""

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the recordings below ``root`` in order of name, without opening any file."""

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return one lead of ``recording``; raise `UnreadableRecordingError` with the reason."""

    def table_files(self, root: Path) -> list[Path]:
        """Return the files that `tables` reads."""

    def tables(self, root: Path) -> CohortTables:
        """Return what the data set's tables say of its recordings."""


def list_files(folder: Path) -> list[str]:
    """Return the names of the files in ``folder``, in order."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(e.name for e in entries if e.is_file())


def list_folders(folder: Path) -> list[str]:
    """Return the names of the folders in ``folder``, in order."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(e.name for e in entries if e.is_dir())
