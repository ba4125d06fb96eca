"""MIT-BIH Arrhythmia Database: 48 half hours at 360 Hz with beat and rhythm annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from preprocessing.cohort import parse_age, parse_sex
from preprocessing.datasets.interface import register
from preprocessing.datasets.wfdb_dataset import WfdbDataSet, header_path, wfdb_records, with_rhythms
from preprocessing.recording import FoundRecording, RawRecording


class MitArrhythmia(WfdbDataSet):
    """MIT-ARR; records 201 and 202 are one subject."""

    name = "mitdb"
    label = "MIT-ARR"
    about = "MIT-BIH Arrhythmia, as PhysioNet ships it."
    physionet = "mitdb"
    # Record 114 has its leads swapped; 102 and 104 have no MLII.
    leads = ("MLII", "V5", "V2", "V1")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records, each a subject of its own but 202."""
        for stem, files in wfdb_records(root):
            if stem == "202":
                yield FoundRecording(self.name, stem, "201", 2, files)
            else:
                yield FoundRecording(self.name, stem, stem, 1, files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the lead with its rhythms; age and sex stand in the header's first comment."""
        from preprocessing.formats.wfdb_record import header_comments

        header = header_path(root, recording)
        raw = with_rhythms(super().read(root, recording, channels), header)
        comments = header_comments(header)
        match = re.match(r"(-?\d+)\s+([MF])\b", comments[0]) if comments else None
        if match is None:
            return raw
        return replace(raw, age=parse_age(match.group(1)), sex=parse_sex(match.group(2)))


register(MitArrhythmia())
