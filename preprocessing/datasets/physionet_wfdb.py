"""Data sets of WFDB records: MIT-ARR, MIT-AFIB, PAF Prediction and ECG-ID."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from preprocessing.cohort_csv import parse_age, parse_sex
from preprocessing.datasets.interface import list_files, list_folders
from preprocessing.formats.wfdb_record import header_comments, read_rhythms, read_wfdb_lead
from preprocessing.recording import (
    NO_TABLES,
    CohortTables,
    FoundRecording,
    RawRecording,
    Role,
)
from storage.schema import Sex

_COMPANIONS = ((".dat", Role.SIGNAL), (".atr", Role.ANNOTATION))


class _WfdbDataSet:
    """What the four share: records are headers, nothing is told by tables."""

    name: str
    leads: tuple[str, ...]
    reads_channels = False
    has_tables = False

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the preferred lead of one record."""
        return read_wfdb_lead(root / recording.files[0][0], self.leads, note_others=False)

    def table_files(self, root: Path) -> list[Path]:
        """Return nothing: what is known stands in the headers."""
        return []

    def tables(self, root: Path) -> CohortTables:
        """Return nothing: what is known stands in the headers."""
        return NO_TABLES


class MitArrhythmia(_WfdbDataSet):
    """MIT-BIH Arrhythmia Database: 48 half hours at 360 Hz with beat and rhythm annotations."""

    name = "mitdb"
    # Record 114 has its leads swapped; 102 and 104 have no MLII.
    leads = ("MLII", "V5", "V2", "V1")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records; 201 and 202 are one subject."""
        for stem, files in wfdb_records(root):
            if stem == "202":
                yield FoundRecording(self.name, stem, "201", 2, files)
            else:
                yield FoundRecording(self.name, stem, stem, 1, files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the lead with its rhythms; age and sex stand in the first comment."""
        raw = _with_rhythms(super().read(root, recording, channels), root, recording)
        comments = header_comments(root / recording.files[0][0])
        match = re.match(r"(-?\d+)\s+([MF])\b", comments[0]) if comments else None
        if match is None:
            return raw
        return replace(raw, age=parse_age(match.group(1)), sex=parse_sex(match.group(2)))


class MitAtrialFibrillation(_WfdbDataSet):
    """MIT-BIH Atrial Fibrillation Database: 25 records of 10 h at 250 Hz, 23 with signals."""

    name = "afdb"
    leads = ("ECG1", "ECG2")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records, each a subject."""
        for stem, files in wfdb_records(root):
            yield FoundRecording(self.name, stem, stem, 1, files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the lead with its rhythms."""
        return _with_rhythms(super().read(root, recording, channels), root, recording)


class PafPrediction(_WfdbDataSet):
    """PAF Prediction Challenge: pairs of half hours of one subject at 128 Hz.

    Records whose names end in ``c`` continue another for five minutes and are left out.
    """

    name = "afpdb"
    leads = ("ECG0", "ECG", "ECG1")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records; consecutive numbers (n01, n02) are two visits of one subject."""
        for stem, files in wfdb_records(root):
            match = re.fullmatch(r"([npt])(\d+)", stem)
            if match is None:
                continue
            number = int(match.group(2))
            subject = f"{match.group(1)}{(number + 1) // 2:02d}"
            yield FoundRecording(self.name, stem, subject, 2 - number % 2, files)


class EcgId(_WfdbDataSet):
    """ECG-ID: 90 people, 20 s at 500 Hz, up to 22 sessions each, age and sex in the header."""

    name = "ecgiddb"
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
        """Return the raw signal (not the filtered copy beside it) with age and sex."""
        raw = super().read(root, recording, channels)
        comments = header_comments(root / recording.files[0][0])
        facts = dict(line.split(":", 1) for line in comments if ":" in line)
        sex: Sex | None = parse_sex(facts.get("Sex"))
        return replace(raw, age=parse_age(facts.get("Age")), sex=sex)


def wfdb_records(
    root: Path, folder: str = ""
) -> Iterator[tuple[str, tuple[tuple[str, Role], ...]]]:
    """Yield (record name, its files) for each header in ``root / folder``; the header first."""
    prefix = f"{folder}/" if folder else ""
    names = list_files(root / folder)
    present = set(names)
    for name in names:
        if not name.endswith(".hea"):
            continue
        stem = name[: -len(".hea")]
        companions = [
            (f"{prefix}{stem}{suffix}", role)
            for suffix, role in _COMPANIONS
            if stem + suffix in present
        ]
        yield stem, ((prefix + name, Role.HEADER), *companions)


def _with_rhythms(raw: RawRecording, root: Path, recording: FoundRecording) -> RawRecording:
    stem = (root / recording.files[0][0]).with_suffix("")
    rhythms, notes = read_rhythms(stem, raw.fs)
    return replace(raw, rhythms=rhythms, notes=raw.notes + notes)
