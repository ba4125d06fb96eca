"""A folder of one's own recordings: its files, what their names say, and their channels."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from preprocessing.channels import pick_channel, printable_label
from preprocessing.cohort import parse_age, parse_sex
from preprocessing.datasets.folder import RECORDING_SUFFIXES, Folder, own_subject
from preprocessing.formats.wfdb_header import file_beside
from preprocessing.recording import FoundRecording, UnreadableRecordingError
from preprocessing.user_folder.table import find_table, read_subject_table
from storage.errors import DeapsError
from storage.schema import Sex, SourceRole

_BIDS = re.compile(r"(?:^|[/_])sub-(?P<subject>[A-Za-z0-9]+)(?:[/_]ses-(?P<visit>[A-Za-z0-9]+))?")
_WITH_VISIT = re.compile(
    r"(?P<subject>.*?[A-Za-z0-9])(?:[ _.-](?:v|n|t)|[ _.-]*(?:visit|session|ses|night))"
    r"[ _.-]?(?P<visit>\d{1,3})",
    re.IGNORECASE,
)
_PERSON_FOLDER = re.compile(
    r"(?:person|subject|subj|patient|pat|participant)[ _.-]?\w*\d\w*", re.IGNORECASE
)
_TRAILING_NUMBER = re.compile(r".*?(?P<visit>\d{1,3})")
_AGE_AND_SEX = re.compile(r"(?P<age>\d{1,3})\s+(?P<sex>[MF])\b")
_FIELD = re.compile(r"<?(?P<name>age|sex|gender)>?\s*[:=]\s*(?P<value>\w+)", re.IGNORECASE)
_EDF_DATE = re.compile(rb"(\d{2})-([A-Z]{3})-(\d{4})")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_OLDEST = 90
_HEADER_OF = {".dat": ".hea", ".mat": ".hea", ".atr": ".hea", ".eeg": ".vhdr", ".vmrk": ".vhdr"}


@dataclass(frozen=True, slots=True)
class Guess:
    """What is known of one recording; None where nothing is."""

    subject: str | None = None
    visit: str | None = None
    sex: Sex | None = None
    age: float | None = None


def guess(root: Path, path: str) -> Guess:
    """Return what name and header of the file ``path`` below ``root`` say."""
    subject, visit = guess_from_name(path)
    sex, age = _from_header(root / path)
    return Guess(subject, visit, sex, age if age is not None and age < _OLDEST else None)


def guess_from_name(path: str) -> tuple[str | None, str | None]:
    """Return subject and visit where names have a form that says so, such as ``p01_visit2``."""
    if match := _BIDS.search(path):
        return match["subject"], match["visit"]
    place = PurePosixPath(path)
    if match := _WITH_VISIT.fullmatch(place.stem):
        return match["subject"].rstrip(" _.-"), str(int(match["visit"]))
    if _PERSON_FOLDER.fullmatch(place.parent.name):
        match = _TRAILING_NUMBER.fullmatch(place.stem)
        return str(place.parent), str(int(match["visit"])) if match else None
    return None, None


def _from_header(path: Path) -> tuple[Sex | None, float | None]:
    try:
        match path.suffix.lower():
            case ".edf" | ".bdf":
                return _from_edf(path)
            case ".hea":
                return _from_wfdb(path)
    except (OSError, UnreadableRecordingError):  # reading it will say so
        pass
    return None, None


def _from_edf(path: Path) -> tuple[Sex | None, float | None]:
    """Return sex and age of a patient field as EDF+ orders it: code, sex, birthdate, name."""
    with path.open("rb") as file:
        start = file.read(256)
    parts = start[8:88].split()
    if len(parts) < 4 or parts[1] not in (b"M", b"F", b"X"):
        return None, None
    sex, born = parse_sex(parts[1].decode("latin-1")), _edf_date(parts[2])
    recording = start[88:168].split()
    recorded = _edf_date(recording[1]) if len(recording) > 1 else None
    return sex, _years(born, recorded)


def _edf_date(text: bytes) -> date | None:
    match = _EDF_DATE.fullmatch(text.upper())
    if match is None or (month := match[2].decode()) not in _MONTHS:
        return None
    try:
        return date(int(match[3]), _MONTHS.index(month) + 1, int(match[1]))
    except ValueError:
        return None


def _years(born: date | None, recorded: date | None) -> float | None:
    if born is None or recorded is None or recorded < born:
        return None
    had_birthday = (recorded.month, recorded.day) >= (born.month, born.day)
    return float(recorded.year - born.year - (not had_birthday))


def _from_wfdb(path: Path) -> tuple[Sex | None, float | None]:
    """Return sex and age of a header's comments: ``69 M ...`` or ``Age: 69``, ``<sex>: M``."""
    from preprocessing.formats.wfdb_record import header_comments

    comments = header_comments(path)
    if comments and (match := _AGE_AND_SEX.match(comments[0])):
        return parse_sex(match["sex"]), parse_age(match["age"])
    fields = {m["name"].lower(): m["value"] for line in comments for m in _FIELD.finditer(line)}
    return parse_sex(fields.get("sex") or fields.get("gender")), parse_age(fields.get("age"))


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
        raise DeapsError(f"{path} has no header {header.name} next to it, which has its rate")
    recordings = [path.with_name(path.name + ending) for ending in RECORDING_SUFFIXES]
    present = [file for file in recordings if file.is_file()]
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


class ChannelRow(NamedTuple):
    """One channel as its header has it, and whether it is read as the ECG."""

    label: str
    fs: float
    is_read: bool


def list_channels(path: Path, labels: tuple[str, ...]) -> list[ChannelRow]:
    """Return the channels of the file with which a recording is opened.

    Raises
    ------
    UnreadableRecordingError
        If its header cannot be read.
    """
    match path.suffix.lower():
        case ".edf" | ".bdf":
            channels = _edf_channels(path)
        case ".hea":
            channels = _wfdb_channels(path)
        case _:
            channels = _mne_channels(path)
    try:
        chosen, _ = pick_channel([label for label, _ in channels], labels)
    except UnreadableRecordingError:
        chosen = -1
    return [
        ChannelRow(printable_label(label), fs, n == chosen)
        for n, (label, fs) in enumerate(channels)
    ]


def _edf_channels(path: Path) -> list[tuple[str, float]]:
    from preprocessing.formats.edf import read_edf_header

    header = read_edf_header(path)
    return [
        (label, n / header.record_s) for label, n in zip(header.labels, header.samples, strict=True)
    ]


def _wfdb_channels(path: Path) -> list[tuple[str, float]]:
    from preprocessing.formats.wfdb_header import read_wfdb_header
    from preprocessing.formats.wfdb_record import segment_headers

    header = read_wfdb_header(path)
    segments = [read_wfdb_header(segment) for segment in segment_headers(path)]
    signals = [signal for part in (header, *segments) for signal in part.signals]
    rates = {signal.name: header.fs * signal.samples_per_frame for signal in signals}
    return list(rates.items())


def _mne_channels(path: Path) -> list[tuple[str, float]]:
    import mne

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            raw = mne.io.read_raw(path, preload=False, verbose="ERROR")
        except Exception:  # whatever the library raises, its text may quote the header
            raise UnreadableRecordingError(f"{path}: its header cannot be read") from None
    return [(name, float(raw.info["sfreq"])) for name in raw.ch_names]
