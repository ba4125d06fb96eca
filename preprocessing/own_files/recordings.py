"""The recordings that a path means: a file, a record without its ending, or a folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from preprocessing.datasets.folder import RECORDING_SUFFIXES, Folder, own_subject
from preprocessing.formats.wfdb_header import file_beside
from preprocessing.own_files.subject_table import find_table, read_subject_table
from preprocessing.recording import FoundRecording, UnreadableRecordingError
from storage.errors import DeapsError
from storage.schema import SourceRole

_HEADER_OF = {".dat": ".hea", ".mat": ".hea", ".atr": ".hea", ".eeg": ".vhdr", ".vmrk": ".vhdr"}


def recordings_at(path: Path) -> tuple[Path, list[FoundRecording]]:
    """Return a folder, and the recordings in it that ``path`` means.

    Raises
    ------
    DeapsError
        If it means none.
    """
    if path.is_dir():
        found = list(Folder().find(path))
        if not found:
            raise DeapsError(f"no recordings below {path}; endings are {_endings()}")
        return path, found
    file = opened_file(path)
    line = None
    if (table := find_table(file.parent)) is not None:
        line = read_subject_table(table, [file.name]).lines.get(file.name)
    subject = (line and line.subject) or own_subject(file.name)
    visit = (line and line.visit) or 1
    files = ((file.name, SourceRole.SIGNAL),)
    return file.parent, [FoundRecording(Folder.name, file.name, subject, visit, files)]


def opened_file(path: Path) -> Path:
    """Return the file with which a recording is opened: of a WFDB record its header.

    Raises
    ------
    DeapsError
        If ``path`` means no recording.
    """
    suffix = path.suffix.lower()
    if suffix in RECORDING_SUFFIXES and path.is_file():
        return path
    if suffix in _HEADER_OF and path.is_file():
        header = file_beside(path, path.stem + _HEADER_OF[suffix])
        if header.is_file():
            return header
        if (naming := _header_that_names(path)) is not None:
            return naming
        raise DeapsError(f"{path} has no header {header.name} beside it, which has its rate")
    beside = [path.with_name(path.name + ending) for ending in RECORDING_SUFFIXES]
    present = [file for file in beside if file.is_file()]
    if len(present) > 1:
        raise DeapsError(f"{path} is {' or '.join(file.name for file in present)}; name one")
    if present:
        return present[0]
    if path.is_file():
        raise DeapsError(f"{path} is not a recording; endings are {_endings()}")
    raise DeapsError(f"no recording at {path}")


def _header_that_names(path: Path) -> Path | None:
    """Return a WFDB header of another name in whose record a signal file belongs."""
    from preprocessing.formats.wfdb_record import signal_file_names

    for header in sorted(path.parent.glob("*.[hH][eE][aA]")):
        with suppress(OSError, UnreadableRecordingError):
            if path.name in signal_file_names(header):
                return header
    return None


def _endings() -> str:
    return ", ".join(sorted({*RECORDING_SUFFIXES, *_HEADER_OF}))
