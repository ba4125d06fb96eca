"""ECG-ID: 90 people, 20 s at 500 Hz, up to 22 sessions each, age and sex in the header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from preprocessing.cohort import parse_age, parse_sex
from preprocessing.datasets.interface import register
from preprocessing.datasets.walk import list_folders
from preprocessing.datasets.wfdb_dataset import WfdbDataSet, header_path, wfdb_records
from preprocessing.recording import FoundRecording, RawRecording


class EcgId(WfdbDataSet):
    """ECG-ID; a folder is a person, a record one of the person's sessions."""

    name = "ecgiddb"
    label = "ECG-ID"
    about = "ECG-ID, as PhysioNet ships it."
    physionet = "ecgiddb"
    leads = ("ECG I",)

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the sessions of each person; a session's number is its visit."""
        for person in list_folders(root):
            for stem, files in wfdb_records(root, person):
                match = re.fullmatch(r"rec_(\d+)", stem)
                visit = int(match.group(1)) if match else 1
                yield FoundRecording(self.name, f"{person}-{stem}", person, visit, files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the raw signal (not the filtered copy next to it) with age and sex."""
        from preprocessing.formats.wfdb_record import header_comments

        raw = super().read(root, recording, channels)
        comments = header_comments(header_path(root, recording))
        fields = dict(line.split(":", 1) for line in comments if ":" in line)
        return replace(raw, age=parse_age(fields.get("Age")), sex=parse_sex(fields.get("Sex")))


register(EcgId())
