"""The registry: every data set by name, from this package, from installed ones and from calls."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from threading import RLock

from preprocessing.datasets.interface import DataSet
from storage.errors import DeapsError

ENTRY_POINTS = "deaps.datasets"
"""Group of entry points through which an installed package offers data sets."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class DataSetError(DeapsError):
    """A data set that cannot be registered; the message says why."""


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
        DataSetError
            If it lacks a member, or another class has its name.
        """
        _check(dataset)
        present = self._datasets.get(dataset.name)
        if present is not None and type(present) is not type(dataset):
            raise DataSetError(
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
            raise DataSetError(
                f"data set {point.name!r} cannot be loaded from {point.value} "
                f"({type(error).__name__}: {error}); mend or uninstall that package"
            ) from error
        if isinstance(dataset, DataSet):
            self.register(dataset)
        if point.name not in self._datasets:
            raise DataSetError(
                f"{point.value} offers data set {point.name!r} and registers none of that name"
            )


def _check(dataset: DataSet) -> None:
    if not isinstance(dataset, DataSet):
        raise DataSetError(f"{dataset!r} is no instance of {DataSet.__module__}.DataSet")
    for member in ("name", "label", "about"):
        value = getattr(dataset, member, None)
        if not isinstance(value, str) or not value:
            raise DataSetError(f"{_class_name(dataset)}: {member} is {value!r}; expected a text")
    if not _NAME.fullmatch(dataset.name):
        raise DataSetError(
            f"{_class_name(dataset)}: name is {dataset.name!r}; expected a letter, then letters, "
            "digits or _, all in lower case"
        )


def _class_name(dataset: DataSet) -> str:
    return f"{type(dataset).__module__}.{type(dataset).__qualname__}"


DATASETS = Registry()
"""Every data set that can be read, by name."""

register = DATASETS.register
