"""The one base class of a data set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from preprocessing.recording import NO_TABLES, CohortTables, FoundRecording, RawRecording
from preprocessing.subject_columns import SubjectValues, SubjectVisit
from storage.errors import DeapsError
from storage.schema import Scoring


class NotFetchableError(DeapsError):
    """A data set that cannot be downloaded; the message gives the next step."""


class DataSet(ABC):
    """A data set: its names, and how its recordings are fetched, found, read and described.

    A data set is one file: a subclass, and `register` called with an instance of it. The file
    imports numpy and format readers inside `read`, because every command loads all data sets.
    """

    name: str
    """Name in the configuration (``data.<name>``), in the store and in the index."""

    label: str
    """Name for people, in reports and messages."""

    about: str
    """One line on what the root ``data.<name>`` holds."""

    version: int = 1
    """Raise this when `read` gives another recording of unchanged files: its windows are then made
    again. Changes of a format's own reader are counted there."""

    physionet: str | None = None
    """PhysioNet's name of the data set, where anyone may download it from there."""

    reads_channels: bool = False
    """Whether `read` uses the alias list of the settings; if not, a new list redoes nothing."""

    has_tables: bool = False
    """Whether sex, age, labels and split come from `tables`; if not, from what `read` returns."""

    @abstractmethod
    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the recordings below ``root`` in order of name, without opening any file."""

    @abstractmethod
    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return one lead of ``recording``; raise `UnreadableRecordingError` with the reason."""

    def scoring(
        self, root: Path, recording: FoundRecording, *, duration_s: float, truncated: bool
    ) -> Scoring | None:
        """Return stages and events of ``recording``, whose signal has that length; None without.

        What is wrong with them is a note of theirs. A recording is never set aside for it.
        """
        return None

    def with_subjects(self, table: Path | None) -> DataSet:
        """Return this data set with its table of subjects at ``table``, outside the root.

        By default there is no such table, and the data set stays as it is.
        """
        return self

    def table_files(self, root: Path) -> list[Path]:
        """Return the files that `tables` reads; by default there are none."""
        return []

    def tables(self, root: Path) -> CohortTables:
        """Return what the data set's tables say of its recordings; by default nothing."""
        return NO_TABLES

    def subject_columns(self, root: Path) -> list[str]:
        """Return the columns that ``cohort.columns`` may name; by default there are none."""
        return []

    def subject_values(
        self, root: Path, columns: tuple[str, ...]
    ) -> tuple[SubjectValues, list[str]]:
        """Return the text in those of the ``columns`` that there are, and warnings."""
        return {}, []

    def visit_names(self, root: Path) -> dict[SubjectVisit, str]:
        """Return what visits are called where that is more than a number; by default nothing."""
        return {}

    def fetch(self, folder: Path) -> None:
        """Download the data set into ``folder``, going on where an earlier download stopped.

        Raises
        ------
        NotFetchableError
            If it cannot be downloaded from here; the message gives the next step.
        """
        from preprocessing.physionet import download_database

        if self.physionet is None:
            raise NotFetchableError(
                f"{self.label} cannot be downloaded from here; give the folder of your copy, "
                f"--set data.{self.name}=/path/to/it"
            )
        download_database(self.physionet, folder)
