"""``subjects.csv`` of a person's own folder: which recording is whose, in whatever way written.

Values that are not understood are never quoted: where columns are out of place, they may be names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from preprocessing.cohort_csv import TextTable, parse_age, read_table
from preprocessing.own_files.file_names import FileNames
from preprocessing.own_files.sexes import UNKNOWN, read_sexes
from preprocessing.own_files.visits import read_visits
from storage.schema import Sex

TABLE_NAMES = ("subjects.csv", "subjects.tsv", "subjects.txt")
COLUMNS = ("file", "subject", "visit", "sex", "age")
SYNONYMS = {
    "filename": "file", "file name": "file", "file_name": "file", "path": "file",
    "recording": "file", "record": "file", "edf": "file",
    "subject_id": "subject", "subject id": "subject", "subjectid": "subject", "id": "subject",
    "patient": "subject", "patient_id": "subject", "patient id": "subject", "pid": "subject",
    "participant": "subject", "participant_id": "subject",
    "session": "visit", "timepoint": "visit", "night": "visit",
    "gender": "sex",
    "datei": "file", "dateiname": "file", "geschlecht": "sex", "alter": "age", "visite": "visit",
    "fichier": "file", "sexe": "sex", "âge": "age", "sujet": "subject",
    "archivo": "file", "fichero": "file", "sexo": "sex", "edad": "age", "visita": "visit",
    "sujeto": "subject", "paciente": "subject",
}  # fmt: skip
"""Other names of the columns, in English, German, French and Spanish."""

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


def read_subject_table(path: Path, recordings: Sequence[str]) -> SubjectTable:
    """Return what a table says of the ``recordings``, which are paths relative to its folder."""
    table = read_table(path, COLUMNS, synonyms=SYNONYMS)
    if not table.rows:
        empty = [] if table.warnings else [f"{path.name}: it has no rows"]
        return SubjectTable(warnings=table.warnings + empty, without_row=list(recordings))
    if "file" not in table.rows[0]:
        return SubjectTable(warnings=[*table.warnings, _no_files(path)], without_row=[*recordings])
    names = FileNames(recordings)
    meant = [names.find(row.get("file", "")) for row in table.rows]
    lines, understood, problems = _lines(table, meant)
    problems = [*_unknown_files(table, meant, names), *_repeated(meant), *problems]
    without_row = [path for path in recordings if path not in lines]
    if without_row:
        singular = "recording has no row and counts as a subject of its own"
        plural = "recordings have no row and count as subjects of their own"
        problems.append(f"{_counted(len(without_row), singular, plural)}: {_listed(without_row)}")
    return SubjectTable(
        lines,
        [f"{path.name}: {_how_read(table)}", *(f"{path.name}: {text}" for text in understood)],
        table.warnings + [f"{path.name}: {text}" for text in problems],
        without_row,
    )


def _lines(
    table: TextTable, meant: Sequence[str | None]
) -> tuple[dict[str, SubjectLine], list[str], list[str]]:
    """Return the table's lines by recording, what was understood, and problems."""
    columns = {name: [row.get(name, "") for row in table.rows] for name in COLUMNS}
    subjects = [text or file or "" for text, file in zip(columns["subject"], meant, strict=True)]
    visits = read_visits(columns["visit"], subjects)
    sexes = read_sexes(columns["sex"])
    ages = [parse_age(text.replace(",", ".")) for text in columns["age"]]
    unread_ages = [
        place
        for place, text in enumerate(columns["age"])
        if ages[place] is None and text.lower() not in UNKNOWN
    ]
    lines: dict[str, SubjectLine] = {}
    for place, file in enumerate(meant):
        if file is not None and file not in lines:
            lines[file] = SubjectLine(
                columns["subject"][place] or None,
                visits.numbers[place],
                visits.names[place],
                sexes.values[place],
                ages[place],
            )
    problems = [
        *_unread(visits.unread, "visits that are not 1 to 10,000"),
        *(
            [sexes.problem]
            if sexes.problem
            else _unread(sexes.unread, "sexes that are not understood")
        ),
        *_unread(unread_ages, "ages that are not 0 to 130 years"),
    ]
    return lines, [text for text in (sexes.understood, visits.understood) if text], problems


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
    text = f"{n_rows} no file here, e.g. {_row(unknown[0])}"
    nearest = names.nearest(table.rows[unknown[0]].get("file", ""))
    yield text + (f"; did you mean {nearest!r}?" if nearest else "")


def _repeated(meant: Sequence[str | None]) -> Iterable[str]:
    first: dict[str, int] = {}
    again = [
        place
        for place, file in enumerate(meant)
        if file is not None and first.setdefault(file, place) != place
    ]
    if again:
        n_rows = _counted(len(again), "row names", "rows name")
        yield f"{n_rows} a file again, e.g. {_row(again[0])}: the first row counts"


def _unread(places: Sequence[int], what: str) -> list[str]:
    return [f"{what}: {len(places):,}, e.g. in {_row(places[0])}"] if places else []


def _row(place: int) -> str:
    """Return a row's name: the first after the column names is 2, as in a sheet."""
    return f"row {place + 2}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _counted(n: int, singular: str, plural: str) -> str:
    return f"{n:,} {singular if n == 1 else plural}"
