"""What every synthetic data set offers: its records, and how to write one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from preprocessing.config import SynthSettings


@dataclass(frozen=True, slots=True)
class SynthDataset:
    """One data set as three functions of the settings.

    ``write_record`` writes the files of one record and needs no other record, so records may be
    written in any order and by any process; ``write_tables`` writes what lists them.
    """

    name: str
    records: Callable[[SynthSettings], tuple[str, ...]]
    write_record: Callable[[Path, SynthSettings, str], None]
    write_tables: Callable[[Path, SynthSettings], None]

    def write(self, root: Path, settings: SynthSettings) -> Path:
        """Write the whole data set under ``root`` and return ``root``."""
        for record in self.records(settings):
            self.write_record(root, settings, record)
        self.write_tables(root, settings)
        return root
