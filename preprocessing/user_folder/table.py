"""The table of subjects of one's own recordings: found, read, and each row matched to its files."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from datetime import date
from pathlib import Path

from preprocessing.cohort import TextTable, parse_age, parse_visit, read_table, shown_lines
from preprocessing.user_folder.names import FileNames
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
_WORDS = {
    Sex.MALE: ("m", "male", "man", "men", "boy", "1", "männlich", "mann", "homme", "masculin",
               "hombre", "masculino", "varón", "mand", "uomo", "maschio"),
    Sex.FEMALE: ("f", "w", "female", "woman", "women", "girl", "2", "weiblich", "frau", "femme",
                 "féminin", "mujer", "femenino", "kvinde", "donna", "femmina"),
}  # fmt: skip
UNKNOWN = frozenset({"", "x", "?", "-", "na", "n/a", "nan", "none", "null", "unknown", "unk", "9"})
"""Ways to say that something is not known, which need no warning."""
_NUMBERS = {"0", "1", "2"}
_ONE_WAY = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})([T ].*)?"),
    re.compile(r"(?P<y>(19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})"),
    re.compile(r"(?P<d>\d{1,2})[-/. ]+(?P<name>[^\W\d_]{3,9})\.?[-/. ,]+(?P<y>\d{2}|\d{4})"),
    re.compile(r"(?P<name>[^\W\d_]{3,9})\.? (?P<d>\d{1,2}), ?(?P<y>\d{4})"),
)
"""Dates that can be read in one way alone: the year first, or the month as a word."""
_IN_ORDER = {
    "day/month": re.compile(r"(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>\d{4}|\d{2})([T ].*)?"),
    "month/day": re.compile(r"(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})[-/.](?P<y>\d{4}|\d{2})([T ].*)?"),
    "year/month": re.compile(r"(?P<y>\d{2})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"),
}
_MONTHS = {
    "jan": 1, "ene": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mrz": 3, "apr": 4,
    "avr": 4, "abr": 4, "may": 5, "mai": 5, "jun": 6, "juin": 6, "jul": 7, "juil": 7, "aug": 8,
    "aoû": 8, "ago": 8, "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
    "déc": 12, "dic": 12,
}  # fmt: skip
"""Months by the beginning of their names, in English, German, French and Spanish."""
_UNKNOWN = frozenset({"", "?", "-", "na", "n/a", "nan", "none", "null", "unknown", "unk", "tbd"})
_WRITE_DATES = "write them as 2024-03-01, or number the visits"
_NUMBERED = re.compile(r"(?P<stem>[^\W\d][\w .-]*?)[ _.-]*(?P<number>\d{1,4})")
_NUMBER = re.compile(r"[-+]?[\d.]+|\W*")
_VISIT_WORDS = frozenset({
    "a", "after", "arm", "b", "base", "baseline", "before", "bl", "c", "control", "cpap", "d",
    "day", "diagnostic", "discharge", "enrolment", "enrollment", "entry", "exam", "examination",
    "exit", "final", "first", "follow", "followup", "fu", "initial", "last", "m", "mo", "month",
    "months", "n", "night", "p", "phase", "placebo", "post", "pre", "repeat", "retest", "s",
    "screening", "second", "ses", "session", "split", "start", "t", "test", "third", "timepoint",
    "titration", "treatment", "up", "v", "visit", "w", "wave", "week", "weeks", "wk", "y", "year",
    "years", "yr", "end",
})  # fmt: skip
"""Words of visits' names that are always kept; any other may be a person's name."""
_LONGEST_NAME = 40


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
    """The table by recording, what of it was understood, and what was not."""

    lines: dict[str, SubjectLine] = field(default_factory=dict)
    understood: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


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
        return SubjectTable(warnings=table.warnings + empty)
    if "file" not in table.columns:
        return SubjectTable(warnings=[*table.warnings, _no_files(path)])
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


_BY_WORD = {word: sex for sex, words in _WORDS.items() for word in words}


@dataclass(frozen=True, slots=True)
class Sexes:
    """The sex in each row, what was understood, and the places of values that were not."""

    values: list[Sex | None]
    understood: str | None
    unread: list[int]
    problem: str | None = None


def read_sexes(texts: Sequence[str]) -> Sexes:
    """Return the sexes of a whole column.

    Codes are judged together: 1 and 2 mean male and female (ISO 5218), but with a 0 among them
    nobody can know which is which, nor what M means where there is an H (hombre, mujer).
    """
    codes = [_code(text) for text in texts]
    ambiguous, problem = _ambiguous(set(codes))
    values = [None if code in ambiguous else _BY_WORD.get(code) for code in codes]
    unread = [
        place
        for place, (code, value) in enumerate(zip(codes, values, strict=True))
        if value is None and code not in UNKNOWN
    ]
    return Sexes(values, _understood(codes, values), unread, problem)


def is_sex(text: str) -> bool:
    """Return whether a text is a way to write a sex, or that it is not known."""
    code = _code(text)
    return code in _BY_WORD or code in UNKNOWN or code in {"0", "h"}


def _code(text: str) -> str:
    code = text.strip().lower().rstrip(".")
    return code[:-2] if code.endswith(".0") else (code.lstrip("0") or code[-1:])


def _ambiguous(codes: set[str]) -> tuple[set[str], str | None]:
    if "0" in codes:
        return _NUMBERS, "sex has the code 0, so what its numbers mean is unclear: write M and F"
    if {"h", "m"} <= codes and not codes & {"f", "w"}:
        return {"h", "m"}, "sex has H and M, which differ by language: write male and female"
    return set(), None


def _understood(codes: Sequence[str], values: Sequence[Sex | None]) -> str | None:
    """Return the words that stood for each sex, and how often: all of them are ours."""
    parts = []
    for sex in Sex:
        words = Counter(code for code, value in zip(codes, values, strict=True) if value is sex)
        if words:
            shown = [word.upper() if len(word) == 1 else word for word in sorted(words)]
            written = "" if shown == [sex] else f"{', '.join(shown)} = "
            parts.append(f"{written}{sex} ({words.total():,})")
    return f"sex: {'; '.join(parts)}" if parts else None


@dataclass(slots=True)
class Visits:
    """The visit in each row, the names that are kept, and what was understood.

    ``order`` says how dates were read. ``problem`` says why dates cannot be put in order.
    """

    numbers: list[int | None]
    names: list[str | None]
    understood: str | None = None
    unread: list[int] = field(default_factory=list)
    order: str | None = None
    problem: str | None = None


def read_visits(texts: Sequence[str], subjects: Sequence[str]) -> Visits:
    """Return the visits of a whole column; an empty text has none.

    Dates are put in order for each subject, and are not kept. Names that end in numbers of one
    series (V1, V2) have those; others count in order of appearance. A name is kept if its words
    are common for visits, or if two subjects have it: a person's own name has neither.
    """
    stripped = [text.strip() for text in texts]
    filled = [text for text in stripped if text.lower() not in _UNKNOWN]
    if n_dates := sum(map(_is_date, filled)):
        if n_dates < len(filled):  # any number for the others could swap visits
            none = Visits([None] * len(texts), [None] * len(texts))
            none.problem = f"some visits are dates, and {len(filled) - n_dates} not; {_WRITE_DATES}"
            return none
        return _by_date([t if t.lower() not in _UNKNOWN else "" for t in stripped], subjects)
    numbers = [parse_visit(text) for text in stripped]
    named = dict.fromkeys(
        text
        for text, number in zip(stripped, numbers, strict=True)
        if number is None and _is_name(text)
    )
    numbered = _number_names(list(named), {number for number in numbers if number})
    kept = {name for name in named if _is_kept(name, stripped, subjects)}
    return Visits(
        [number or numbered.get(text) for number, text in zip(numbers, stripped, strict=True)],
        [text if text in kept else None for text in stripped],
        _understood_visit(numbered, kept),
        [
            place
            for place, (text, number) in enumerate(zip(stripped, numbers, strict=True))
            if text and number is None and text not in numbered
        ],
    )


def _by_date(texts: Sequence[str], subjects: Sequence[str]) -> Visits:
    """Return visits in order of their dates; whether days or months come first, the column says.

    Where both orders are possible and give different visits, nobody can know.
    """
    numbered = {}
    for order in _IN_ORDER:
        dates = [_date(text, order) for text in texts]
        if all(day is not None for day, text in zip(dates, texts, strict=True) if text):
            numbered[order] = _in_order(dates, subjects)
    none = Visits([None] * len(texts), [None] * len(texts))
    if not numbered:
        none.problem = f"visits are dates in two orders, day/month and month/day; {_WRITE_DATES}"
        return none
    orders, different = list(numbered), list(numbered.values())
    if any(other != different[0] for other in different):
        none.problem = f"visits are dates that may be {' or '.join(orders)}; {_WRITE_DATES}"
        return none
    is_plain = all(any(p.fullmatch(text) for p in _ONE_WAY) for text in texts if text)
    has_words = any(character.isalpha() for text in texts for character in text.partition("T")[0])
    return Visits(
        different[0],
        [None] * len(texts),
        "visits are dates: numbered in order for each subject; no date is kept",
        order=(
            ("months as words" if has_words else "year/month/day")
            if is_plain
            else orders[0]
            if len(orders) == 1
            else "either order"
        ),
    )


def _in_order(dates: Sequence[date | None], subjects: Sequence[str]) -> list[int | None]:
    days: dict[str, set[date]] = {}
    for subject, day in zip(subjects, dates, strict=True):
        if day is not None:
            days.setdefault(subject, set()).add(day)
    places = {subject: {d: n for n, d in enumerate(sorted(of), 1)} for subject, of in days.items()}
    return [
        None if day is None else places[subject][day]
        for subject, day in zip(subjects, dates, strict=True)
    ]


def _is_date(text: str) -> bool:
    return any(_date(text, order) for order in _IN_ORDER)


def _date(text: str, order: str) -> date | None:
    """Return the date that a text is if days and months stand in ``order``."""
    for pattern in (*_ONE_WAY, _IN_ORDER[order]):
        if (match := pattern.fullmatch(text)) is None:
            continue
        found = match.groupdict()
        word = found.get("name", "").lower()
        month = _MONTHS.get(word[:4]) or _MONTHS.get(word[:3], 0) if word else int(found["m"])
        year = int(found["y"])
        if year < 100:
            year += 2000 if year < 50 else 1900
        with suppress(ValueError):  # a month above 12
            return date(year, month, int(found["d"]))
    return None


def _is_name(text: str) -> bool:
    is_number = _NUMBER.fullmatch(text) is not None
    return bool(text) and not is_number and not text.isnumeric() and len(text) <= _LONGEST_NAME


def _number_names(names: Sequence[str], taken: set[int]) -> dict[str, int]:
    matches = [_NUMBERED.fullmatch(name) for name in names]
    stems = {match["stem"].lower().rstrip(" _.-") for match in matches if match}
    numbers = [int(match["number"]) for match in matches if match]
    is_series = len(stems) == 1 and len(numbers) == len(names) == len(set(numbers))
    if names and is_series and not taken:
        first = 0 if min(numbers) > 0 else 1
        return {name: first + number for name, number in zip(names, numbers, strict=True)}
    free = (number for number in range(1, 10_001) if number not in taken)
    return dict(zip(names, free, strict=False))


def _is_kept(name: str, texts: Sequence[str], subjects: Sequence[str]) -> bool:
    if _is_date(name):
        return False
    words = re.findall(r"[^\W\d_]+", name.lower())
    if all(word in _VISIT_WORDS for word in words):
        return True
    of = {subject for subject, text in zip(subjects, texts, strict=True) if text == name}
    return len(of) >= 2


def _understood_visit(numbered: dict[str, int], kept: set[str]) -> str | None:
    if not numbered:
        return None
    shown = [f"{name} = {number}" for name, number in numbered.items() if name in kept]
    hidden = len(numbered) - len(shown)
    others = [f"unusual names, numbered and not kept: {hidden}"] if hidden else []
    return f"visits: {', '.join([*shown, *others])}"
