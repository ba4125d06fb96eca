"""What data sets of WFDB records share: a record is a header and the files next to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from preprocessing.datasets.interface import DataSet
from preprocessing.datasets.walk import list_files
from preprocessing.recording import FoundRecording, RawRecording, UnreadableRecordingError
from storage.schema import SourceRole


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
    """Yield (record name, its files) for each header in ``root / folder``; the header first.

    Headers are opened: the signal files are those that a header names, whatever they are called.
    """
    prefix = f"{folder}/" if folder else ""
    names = list_files(root / folder)
    annotations = {name[:-4].lower(): name for name in names if name.lower().endswith(".atr")}
    for name in names:
        if not name.lower().endswith(".hea"):
            continue
        stem = name[: -len(".hea")]
        files = [(prefix + name, SourceRole.HEADER), *_named_files(root, prefix + name)]
        if (annotation := annotations.get(stem.lower())) is not None:
            files.append((prefix + annotation, SourceRole.ANNOTATION))
        yield stem, tuple(files)


def _named_files(root: Path, header: str) -> Iterator[tuple[str, SourceRole]]:
    """Yield the signal files and segments' headers that a header names and that are there."""
    from preprocessing.formats.wfdb_record import signal_file_names

    folder = PurePosixPath(header).parent
    try:
        names = signal_file_names(root / header)
    except (OSError, UnreadableRecordingError):  # reading it will say so
        return
    for name in names:
        path = str(folder / name)
        if is_file(root / path):
            is_header = name.lower().endswith(".hea")
            yield path, SourceRole.HEADER if is_header else SourceRole.SIGNAL


def is_file(path: Path) -> bool:
    """Return whether there is such a file; a header may name one that no disk can hold."""
    try:
        return path.is_file()
    except OSError:  # the name is too long, for example
        return False


def with_rhythms(raw: RawRecording, header: Path) -> RawRecording:
    """Return the recording with the rhythms of the ``.atr`` file next to its header."""
    from dataclasses import replace

    from preprocessing.formats.wfdb_record import read_rhythms

    rhythms, notes = read_rhythms(header, duration_s=raw.signal.size / raw.fs)
    return replace(raw, rhythms=rhythms, notes=raw.notes + notes)
