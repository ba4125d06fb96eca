"""What a data set is, and where the known ones are registered."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import RLock

from preprocessing.cohort import SubjectValues, SubjectVisit
from preprocessing.recording import NO_TABLES, CohortTables, FoundRecording, RawRecording
from storage.errors import DeapsError
from storage.schema import Scoring

ENTRY_POINTS = "deaps.datasets"
"""Group of entry points through which an installed package offers data sets."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


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
        """Yield the recordings below ``root`` in order of name, without opening a signal."""

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
        DeapsError
            If it cannot be downloaded from here; the message gives the next step.
        """
        from preprocessing.physionet import download_database

        if self.physionet is None:
            raise DeapsError(
                f"{self.label} cannot be downloaded from here; give the folder of your copy, "
                f"--set data.{self.name}=/path/to/it"
            )
        download_database(self.physionet, folder)


class Registry(Mapping[str, DataSet]):
    """Data sets by name.

    They are loaded when the first one is asked for, so that importing this package costs
    nothing: first the modules of this package, in order of name, then the entry points.
    """

    def __init__(self) -> None:
        self._datasets: dict[str, DataSet] = {}
        self._pending: list[Callable[[], None]] = [self._load_package, self._load_installed]
        # Several threads may ask first; a data set's own module may ask while it is loaded.
        self._lock = RLock()

    def __getitem__(self, name: str) -> DataSet:
        self._load()
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._datasets)

    def __len__(self) -> int:
        self._load()
        return len(self._datasets)

    def register(self, dataset: DataSet) -> None:
        """Add a data set; one of the same class is replaced.

        Raises
        ------
        DeapsError
            If it lacks a member, or another class has its name.
        """
        _check(dataset)
        present = self._datasets.get(dataset.name)
        if present is not None and type(present) is not type(dataset):
            raise DeapsError(
                f"data set {dataset.name!r} of {_class_name(dataset)} has the name of "
                f"{_class_name(present)}; give it another"
            )
        self._datasets[dataset.name] = dataset

    def _load(self) -> None:
        with self._lock:
            while self._pending:
                load = self._pending.pop(0)
                try:
                    load()
                except BaseException:
                    self._pending.insert(0, load)
                    raise

    def _load_package(self) -> None:
        package = importlib.import_module("preprocessing.datasets")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")

    def _load_installed(self) -> None:
        for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
            self._load_entry_point(point)

    def _load_entry_point(self, point: importlib.metadata.EntryPoint) -> None:
        """Register what an entry point names: a class, an instance, or a module that registers."""
        try:
            loaded = point.load()
            dataset = loaded() if isinstance(loaded, type) else loaded
        except Exception as error:  # whatever a foreign package raises when it is imported
            raise DeapsError(
                f"data set {point.name!r} cannot be loaded from {point.value} "
                f"({type(error).__name__}: {error}); mend or uninstall that package"
            ) from error
        if isinstance(dataset, DataSet):
            self.register(dataset)
        if point.name not in self._datasets:
            raise DeapsError(
                f"{point.value} offers data set {point.name!r} and registers none of that name"
            )


def _check(dataset: DataSet) -> None:
    if not isinstance(dataset, DataSet):
        raise DeapsError(f"{dataset!r} is no instance of {DataSet.__module__}.DataSet")
    for member in ("name", "label", "about"):
        value = getattr(dataset, member, None)
        if not isinstance(value, str) or not value:
            raise DeapsError(f"{_class_name(dataset)}: {member} is {value!r}; expected a text")
    if not _NAME.fullmatch(dataset.name):
        raise DeapsError(
            f"{_class_name(dataset)}: name is {dataset.name!r}; expected a letter, then letters, "
            "digits or _, all in lower case"
        )


def _class_name(dataset: DataSet) -> str:
    return f"{type(dataset).__module__}.{type(dataset).__qualname__}"


DATASETS = Registry()
"""Every data set that can be read, by name."""


register = DATASETS.register


def fetch_dataset(name: str, folder: Path) -> None:
    """Download one data set into ``folder``, going on where an earlier download stopped.

    Raises
    ------
    DeapsError
        For names that no data set has, and for data sets that cannot be downloaded from here.
    """
    if name not in DATASETS:
        raise DeapsError(f"no data set {name!r}; possible: {', '.join(DATASETS)}")
    DATASETS[name].fetch(folder)
