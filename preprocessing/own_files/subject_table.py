"""``subjects.csv`` of a person's own folder: which recording is whose, in whatever way written.

Values that are not understood are never quoted: where columns are out of place, they may be names.
What could give a recording to the wrong person is an error, and the table is not used: a row with
too many fields, rows that contradict each other, dates in an unknown order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

from preprocessing.cohort_csv import TextTable, parse_age, read_table, shown_lines
from preprocessing.own_files.file_names import FileNames
from preprocessing.own_files.sexes import UNKNOWN, is_sex, read_sexes
from preprocessing.own_files.visits import Visits, read_visits
from storage.errors import DeapsError
from storage.schema import Sex

TABLE_NAMES = ("subjects.csv", "subjects.tsv", "subjects.txt")
COLUMNS = ("file", "subject", "visit", "sex", "age")
SYNONYMS = {
    "filename": "file", "file name": "file", "file_name": "file", "path": "file",
    "recording": "file", "record": "file", "edf": "file",
    "subject_id": "subject", "subject id": "subject", "subjectid": "subject", "id": "subject",
    "patient": "subject", "patient_id": "subject", "patient id": "subject", "pid": "subject",
    "participant": "subject", "participant_id": "subject", "patient number": "subject",
    "patient no": "subject", "patient nr": "subject", "patientid": "subject", "case id": "subject",
    "patient code": "subject", "subject number": "subject", "participant number": "subject",
    "session": "visit", "timepoint": "visit", "night": "visit", "date": "visit", "datum": "visit",
    "recording_date": "visit", "recording date": "visit", "fecha": "visit",
    "gender": "sex",
    "datei": "file", "dateiname": "file", "geschlecht": "sex", "alter": "age", "visite": "visit",
    "fichier": "file", "sexe": "sex", "âge": "age", "sujet": "subject",
    "archivo": "file", "fichero": "file", "sexo": "sex", "edad": "age", "visita": "visit",
    "sujeto": "subject", "paciente": "subject",
}  # fmt: skip
"""Other names of the columns, in English, German, French and Spanish."""

LAST_RESORTS = frozenset(
    {"id", "date", "datum", "recording_date", "recording date", "fecha", "record", "path"}
)
"""Names that often mean something else: taken where no other name of the column is there."""

_NOBODY = frozenset({"?", "-", "na", "n/a", "nan", "none", "null", "unknown", "unk"})
"""Ways to say that the subject is not known: such recordings are not one person's."""

_SHOWN = 5
_ENCODINGS = {"utf-8": "", "cp1252": "windows-1252", "utf-16": "UTF-16"}


@dataclass(frozen=True, slots=True)
class SubjectLine:
    """What the table says of one recording."""

    subject: str | None
    visit: int | None
    visit_name: str | None
    sex: Sex | None
    age: float | None


@dataclass(slots=True)
class SubjectTable:
    """The table by recording, what of it was understood, and what was not.

    ``without_row`` are the recordings that it does not name.
    """

    lines: dict[str, SubjectLine] = field(default_factory=dict)
    understood: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_row: list[str] = field(default_factory=list)


def find_table(root: Path) -> Path | None:
    """Return the table of subjects in a folder, None without one."""
    return next((path for name in TABLE_NAMES if (path := root / name).is_file()), None)


class SubjectTableError(DeapsError):
    """A table that may give recordings to the wrong people; the message names the lines."""


def read_subject_table(path: Path, recordings: Sequence[str]) -> SubjectTable:
    """Return what a table says of the ``recordings``, which are paths relative to its folder.

    Raises
    ------
    SubjectTableError
        If rows have too many fields or contradict each other, or columns or dates are ambiguous.
    """
    table = read_table(path, COLUMNS, synonyms=SYNONYMS, last_resorts=LAST_RESORTS, fits=_fits)
    if table.surplus:
        raise SubjectTableError(
            f"{path.name}: {shown_lines(table.surplus)}: more fields than columns; put quotes "
            "around a value that holds a separator"
        )
    for column, theirs in table.ambiguous.items():
        raise SubjectTableError(
            f"{path.name}: {column} may be {' or '.join(f'column {n!r}' for n in theirs)}, which "
            f"differ; call the right one {column!r}"
        )
    if not table.rows:
        empty = [] if table.warnings else [f"{path.name}: it has no rows"]
        return SubjectTable(warnings=table.warnings + empty, without_row=list(recordings))
    if "file" not in table.columns:
        return SubjectTable(warnings=[*table.warnings, _no_files(path)], without_row=[*recordings])
    for row in table.rows:
        subject = unicodedata.normalize("NFC", row.get("subject", ""))
        row["subject"] = "" if subject.lower() in _NOBODY else subject
    names = FileNames(recordings)
    meant = [names.find(row.get("file", "")) for row in table.rows]
    visits = read_visits(
        [row.get("visit", "") for row in table.rows],
        [row["subject"] or file or "" for row, file in zip(table.rows, meant, strict=True)],
    )
    if visits.problem:
        raise SubjectTableError(f"{path.name}: {visits.problem}")
    lines, understood, problems = _lines(path, table, meant, visits)
    problems = [
        *_unknown_files(table, meant, names),
        *_repeated(table, meant),
        *problems,
        *_likely_same([row["subject"] for row in table.rows]),
    ]
    without_row = [path for path in recordings if path not in lines]
    if without_row:
        singular = "recording has no row and counts as a subject of its own"
        plural = "recordings have no row and count as subjects of their own"
        problems.append(f"{_counted(len(without_row), singular, plural)}: {_listed(without_row)}")
    understood = [_how_read(table), _which_columns(table, visits.order), *understood]
    return SubjectTable(
        lines,
        [f"{path.name}: {text}" for text in understood],
        table.warnings + [f"{path.name}: {text}" for text in problems],
        without_row,
    )


def _fits(row: Mapping[str, str]) -> bool:
    """Return whether sex and age of a row can be a sex and an age, or missing."""
    age = row.get("age", "").strip()
    is_age = age.lower() in UNKNOWN or parse_age(age.replace(",", ".")) is not None
    return is_age and is_sex(row.get("sex", ""))


def _lines(
    path: Path, table: TextTable, meant: Sequence[str | None], visits: Visits
) -> tuple[dict[str, SubjectLine], list[str], list[str]]:
    """Return the table's lines by recording, what was understood, and problems."""
    columns = {name: [row.get(name, "") for row in table.rows] for name in COLUMNS}
    sexes = read_sexes(columns["sex"])
    ages = [parse_age(text.replace(",", ".")) for text in columns["age"]]
    unread_ages = [
        place
        for place, text in enumerate(columns["age"])
        if ages[place] is None and text.lower() not in UNKNOWN
    ]
    rows = [
        SubjectLine(subject or None, number, name, sex, age)
        for subject, number, name, sex, age in zip(
            columns["subject"], visits.numbers, visits.names, sexes.values, ages, strict=True
        )
    ]
    lines: dict[str, SubjectLine] = {}
    first: dict[str, int] = {}
    for file, row, line in zip(meant, rows, table.lines, strict=True):
        if file is None:
            continue
        if file not in lines:
            lines[file], first[file] = row, line
            continue
        if differing := _contradictions(lines[file], row):
            raise SubjectTableError(
                f"{path.name}: lines {first[file]} and {line} name one file and differ in "
                f"{' and '.join(differing)}; remove the wrong one"
            )
        lines[file] = _merged(lines[file], row)
    _refuse_two_sexes(path, table, rows)
    problems = [
        *_unread(table, visits.unread, "visits that are not 1 to 10,000"),
        *(
            [sexes.problem]
            if sexes.problem
            else _unread(table, sexes.unread, "sexes that are not understood")
        ),
        *_unread(table, unread_ages, "ages that are not 0 to 130 years"),
    ]
    return lines, [text for text in (sexes.understood, visits.understood) if text], problems


def _merged(first: SubjectLine, second: SubjectLine) -> SubjectLine:
    """Return what two rows of one file say together, the first where they contradict."""
    fields = zip(astuple(first), astuple(second), strict=True)
    return SubjectLine(*(a if a is not None else b for a, b in fields))


def _contradictions(first: SubjectLine, second: SubjectLine) -> list[str]:
    """Return the columns in which two rows say different things."""
    return [
        name
        for name in COLUMNS[1:]
        if None not in (pair := (getattr(first, name), getattr(second, name)))
        and pair[0] != pair[1]
    ]


def _refuse_two_sexes(path: Path, table: TextTable, rows: Sequence[SubjectLine]) -> None:
    first: dict[str, tuple[Sex, int]] = {}
    for row, line in zip(rows, table.lines, strict=True):
        if row.subject and row.sex:
            sex, where = first.setdefault(row.subject, (row.sex, line))
            if sex is not row.sex:
                raise SubjectTableError(
                    f"{path.name}: lines {where} and {line} give one subject two sexes; mend "
                    "one, or give the subjects different names"
                )


def _likely_same(subjects: Iterable[str]) -> list[str]:
    """Return a problem that lists subjects whose names differ as typing does: 007 and 7."""
    alike: dict[str, dict[str, None]] = {}
    for subject in filter(None, subjects):
        plain = re.sub(r"\.0+$", "", unicodedata.normalize("NFKC", subject).casefold())
        key = re.sub(r"\d+", lambda digits: digits.group().lstrip("0") or "0", plain)
        alike.setdefault(re.sub(r"[\s_-]+", "", key), {})[subject] = None
    groups = [" and ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
    if not groups:
        return []
    shown, more = "; ".join(groups[:_SHOWN]), len(groups) - _SHOWN
    return [
        f"subjects that may be one person, counted as different: {shown}"
        + (f"; and {more:,} more" if more > 0 else "")
    ]


def _which_columns(table: TextTable, order: str | None) -> str:
    """Return which column is what, such as ``visit = column date (day/month)``."""
    parts = [f"{ours} = column {theirs}" for ours, theirs in table.columns.items()]
    dates = f" ({order})" if order else ""
    return ", ".join(part + dates * part.startswith("visit ") for part in parts)


def _no_files(path: Path) -> str:
    return (
        f"{path.name}: it cannot be used, and every recording counts as a subject of its own; its "
        f"first line must name the columns {', '.join(COLUMNS)}"
    )


def _how_read(table: TextTable) -> str:
    encoding = _ENCODINGS.get(table.encoding, "UTF-16")
    rows = _counted(len(table.rows), "row", "rows")
    return f"{rows}, separated by {table.separator}{', in ' if encoding else ''}{encoding}"


def _unknown_files(
    table: TextTable, meant: Sequence[str | None], names: FileNames
) -> Iterable[str]:
    unknown = [place for place, file in enumerate(meant) if file is None]
    if not unknown:
        return
    n_rows = _counted(len(unknown), "row names", "rows name")
    text = f"{n_rows} no file here, {shown_lines([table.lines[place] for place in unknown])}"
    nearest = names.nearest(table.rows[unknown[0]].get("file", ""))
    yield text + (f"; did you mean {nearest!r}?" if nearest else "")


def _repeated(table: TextTable, meant: Sequence[str | None]) -> Iterable[str]:
    first: dict[str, int] = {}
    again = [
        table.lines[place]
        for place, file in enumerate(meant)
        if file is not None and first.setdefault(file, place) != place
    ]
    if again:
        n_rows = _counted(len(again), "row names", "rows name")
        yield f"{n_rows} a file again, {shown_lines(again)}"


def _unread(table: TextTable, places: Sequence[int], what: str) -> list[str]:
    if not places:
        return []
    return [f"{what}: {len(places):,}, {shown_lines([table.lines[place] for place in places])}"]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _counted(n: int, singular: str, plural: str) -> str:
    return f"{n:,} {singular if n == 1 else plural}"
