"""MIT-BIH Atrial Fibrillation Database: 25 records of 10 h at 250 Hz, 23 with signals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from preprocessing.datasets.interface import register
from preprocessing.datasets.wfdb_dataset import WfdbDataSet, header_path, wfdb_records, with_rhythms
from preprocessing.recording import FoundRecording, RawRecording


class MitAtrialFibrillation(WfdbDataSet):
    """MIT-AFIB; a record is a subject."""

    name = "afdb"
    label = "MIT-AFIB"
    about = "MIT-BIH Atrial Fibrillation, as PhysioNet ships it."
    physionet = "afdb"
    leads = ("ECG1", "ECG2")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records, each a subject."""
        for stem, files in wfdb_records(root):
            yield FoundRecording(self.name, stem, stem, 1, files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the lead with its rhythms."""
        raw = super().read(root, recording, channels)
        return with_rhythms(raw, header_path(root, recording))


register(MitAtrialFibrillation())
