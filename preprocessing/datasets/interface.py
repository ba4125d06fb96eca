"""The one interface of a data set, and the walk through a folder that its readers share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from preprocessing.recording import CohortTables, FoundRecording, RawRecording


class DataSet(Protocol):
    """A data set: how its recordings are found, read and described.

    To add one, write a class with these members and name it in ``DATASETS``.
    """

    name: str
    """Name in the configuration (``data.<name>``), in the store and in the index."""

    reads_channels: bool
    """Whether `read` uses the alias list of the settings; if not, a new list redoes nothing."""

    has_tables: bool
    """Whether sex, age and labels come from `tables`; if not, headers tell them."""

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
    """Return the names of the files in ``folder``, in order; empty where it cannot be read."""
    return _names(folder, lambda entry: entry.is_file())


def list_folders(folder: Path) -> list[str]:
    """Return the names of the folders in ``folder``, in order; links are not followed."""
    return _names(folder, lambda entry: entry.is_dir(follow_symlinks=False))


def _names(folder: Path, wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    names = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # a link that leads nowhere, or round in a circle
                if wanted(entry):
                    names.append(entry.name)
    return sorted(names)
