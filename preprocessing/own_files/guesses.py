"""What file names and headers tell of a recording without naming anybody.

Of the identity fields of a header only sex and age are taken, and an age of 90 or more is not: so
few people have it that it could tell who somebody is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

from preprocessing.cohort_csv import parse_age, parse_sex
from preprocessing.recording import UnreadableRecordingError
from storage.schema import Sex

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


@dataclass(frozen=True, slots=True)
class Guess:
    """What can be told of one recording; None where nothing can."""

    subject: str | None = None
    visit: str | None = None
    sex: Sex | None = None
    age: float | None = None


def guess(root: Path, path: str) -> Guess:
    """Return what name and header of the file ``path`` below ``root`` tell."""
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
