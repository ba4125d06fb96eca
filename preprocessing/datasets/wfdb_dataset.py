"""What data sets of WFDB records share: a record is a header and the files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from preprocessing.datasets.interface import DataSet
from preprocessing.datasets.walk import list_files
from preprocessing.recording import (
    FoundRecording,
    RawRecording,
)
from storage.schema import SourceRole

_COMPANIONS = ((".dat", SourceRole.SIGNAL), (".atr", SourceRole.ANNOTATION))


class WfdbDataSet(DataSet):
    """A data set of WFDB records with a fixed order of leads."""

    leads: tuple[str, ...]
    """Names of the lead that is read, the preferred first."""

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the preferred lead of one record."""
        from preprocessing.formats.wfdb_record import read_wfdb_lead

        return read_wfdb_lead(header_path(root, recording), self.leads, note_others=False)


def header_path(root: Path, recording: FoundRecording) -> Path:
    """Return the header of a record that `wfdb_records` found."""
    return root / recording.files[0][0]


def wfdb_records(
    root: Path, folder: str = ""
) -> Iterator[tuple[str, tuple[tuple[str, SourceRole], ...]]]:
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
        yield stem, ((prefix + name, SourceRole.HEADER), *companions)


def with_rhythms(raw: RawRecording, header: Path) -> RawRecording:
    """Return the recording with the rhythms of the ``.atr`` file beside its header."""
    from dataclasses import replace

    from preprocessing.formats.wfdb_record import read_rhythms

    rhythms, notes = read_rhythms(header.with_suffix(""), raw.fs)
    return replace(raw, rhythms=rhythms, notes=raw.notes + notes)
