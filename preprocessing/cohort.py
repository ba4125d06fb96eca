"""Tables of subjects: a CSV with its delimiter and encoding guessed, and its columns read."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preprocessing.plausibility import require_memory
from preprocessing.recording import UnreadableRecordingError
from storage.errors import DeapsError
from storage.schema import Sex

_SEXES = {
    "1": Sex.MALE, "2": Sex.FEMALE, "male": Sex.MALE, "female": Sex.FEMALE,
    "m": Sex.MALE, "f": Sex.FEMALE,
}  # fmt: skip
ANY_ENCODING = "any"
"""Take UTF-8 with or without a mark, UTF-16, and windows-1252 for all else."""
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_SHOWN_LINES = 5
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BYTES_PER_BYTE = 8
"""Memory for each byte of a table: its text, and what the csv module makes of it."""
_BYTES_PER_ROW, _BYTES_PER_FIELD = 400, 60
"""Memory for each row in addition: 637 bytes were measured with four columns, 533 with five."""
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_IDENTIFYING = re.compile(
    r"pptid|name|birth|dob|date|address|street|zip|postal|phone|email|mail|ssn|mrn|passport|"
    r"comment|remark|note|text"
)
"""Parts of names of columns that could identify somebody, or that hold free text."""
_CODE = re.compile(r"[\w.+<>=-]{1,24}")
_TAKEN = ("dataset", "subject", "visit")
SubjectVisit = tuple[str, int]
SubjectValues = dict[SubjectVisit, dict[str, str]]
"""Text by column, of each subject and visit."""


@dataclass(slots=True)
class TextTable:
    """Rows of a table with just the columns that were asked for, and how it was read.

    ``lines`` has the line of each row in the file, ``surplus`` those of rows that have more fields
    than there are columns: where they belong cannot be known, so they are left out. ``columns`` has
    the table's own name of each column, ``ambiguous`` the columns for which two with different
    values could be meant.
    """

    rows: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    separator: str = "commas"
    encoding: str = ""
    lines: list[int] = field(default_factory=list)
    surplus: list[int] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    ambiguous: dict[str, list[str]] = field(default_factory=dict)


def parse_sex(text: str | None) -> Sex | None:
    """Return the sex that ``1``, ``01``, ``1.0``, ``M`` or ``male`` (2, F, female) stand for."""
    key = (text or "").strip().lower()
    if key.endswith(".0"):
        key = key[:-2]
    return _SEXES.get(key.lstrip("0") or key)


def parse_visit(text: str | None) -> int | None:
    """Return a visit's number from ``2`` or ``2.0``; None unless it is 1 to 10,000."""
    try:
        visit = float((text or "").strip())
    except ValueError:
        return None
    return int(visit) if visit.is_integer() and 1 <= visit <= 10_000 else None


def parse_age(text: str | None) -> float | None:
    """Return an age in years; None where the text is empty or no age."""
    try:
        age = float((text or "").strip())
    except ValueError:
        return None
    return age if 0 <= age <= 130 else None


def read_columns(
    path: Path, columns: tuple[str, ...], *, encoding: str = ANY_ENCODING
) -> tuple[list[dict[str, str]], list[str]]:
    """Return the rows of a table, with just ``columns``, and warnings; see `read_table`."""
    table = read_table(path, columns, encoding=encoding)
    return table.rows, table.warnings


def read_table(
    path: Path,
    columns: tuple[str, ...],
    *,
    encoding: str = ANY_ENCODING,
    synonyms: Mapping[str, str] | None = None,
    last_resorts: Collection[str] = (),
    fits: Callable[[Mapping[str, str]], bool] | None = None,
) -> TextTable:
    """Return a table of commas, semicolons or tabs, with just ``columns``.

    A missing column is a warning and its values are left out. A file that is not in the named
    encoding is read as windows-1252, with a warning, since then only accented letters may be
    wrong. Rows with more fields than columns are left out, with a warning.

    Parameters
    ----------
    synonyms
        Other names of columns, in lower case, such as ``gender`` for ``sex``.
    last_resorts
        Synonyms that are taken only where no other name is there, such as ``id``.
    fits
        Whether the values of a row can be those of their columns. A row whose values fit only if
        two neighbours are one value has too many fields, too: a separator is in one of them.
    """
    text, used, warnings = _decode(path, encoding, n_columns=len(columns))
    if text is None:
        return TextTable(warnings=warnings)
    separator = _separator(text)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    names = _header(reader)
    places = {
        column: _places(column.lower(), names, synonyms or {}, last_resorts) for column in columns
    }
    missing = [column for column in columns if not places[column]]
    if missing:
        warnings.append(f"{path.name}: no column {', '.join(map(repr, missing))}")
    table = TextTable(
        warnings=warnings,
        separator=_SEPARATORS[separator],
        encoding=used,
        columns={column: names[at[0]] for column, at in places.items() if at},
    )
    try:
        _add_rows(table, reader, len(names), places, separator, fits)  # rows before damage are kept
    except csv.Error:
        n_read = len(table.rows) + 1
        warnings.append(f"{path.name}: damaged after row {n_read:,}, e.g. an open quote")
    for column in table.ambiguous:
        table.ambiguous[column] = [names[place] for place in places[column]]
    if table.surplus:
        warnings.append(
            f"{path.name}: rows with more fields than there are columns: "
            f"{len(table.surplus):,}, {shown_lines(table.surplus)}: left out"
        )
    return table


def _add_rows(
    table: TextTable,
    reader: Any,
    n_columns: int,
    places: Mapping[str, list[int]],
    separator: str,
    fits: Callable[[Mapping[str, str]], bool] | None,
) -> None:
    chosen = {column: at[0] for column, at in places.items() if at}
    doubtful = {column: at for column, at in places.items() if len(at) > 1}
    for fields in reader:
        if any(field.strip() for field in fields[n_columns:]):
            table.surplus.append(reader.line_num)
            continue
        if not any(fields) or not n_columns:
            continue
        fields += [""] * (n_columns - len(fields))
        row = {column: fields[place].strip() for column, place in chosen.items()}
        if fits is not None and not fits(row):
            joined = (
                [*fields[:at], separator.join(fields[at : at + 2]), *fields[at + 2 :], ""]
                for at in range(n_columns - 1)
            )
            if any(fits({c: other[place] for c, place in chosen.items()}) for other in joined):
                table.surplus.append(reader.line_num)
                continue
        table.rows.append(row)
        table.lines.append(reader.line_num)
        for column, at in doubtful.items():
            if len({fields[place].strip() for place in at}) > 1:
                table.ambiguous[column] = []


def shown_lines(lines: Sequence[int]) -> str:
    """Return the numbers of the first few lines for a message."""
    shown, more = ", ".join(map(str, lines[:_SHOWN_LINES])), len(lines) - _SHOWN_LINES
    return f"line{'' if len(lines) == 1 else 's'} {shown}" + (f" and {more:,} more" * (more > 0))


def column_names(path: Path, *, encoding: str = ANY_ENCODING) -> list[str]:
    """Return the columns of a table in lower case; none where it cannot be read."""
    text, _, _ = _decode(path, encoding)
    if text is None:
        return []
    return _header(csv.reader(io.StringIO(text), delimiter=_separator(text)))


def _separator(text: str) -> str:
    """Return what separates the column names: whichever of the three stands there most often."""
    head = text.lstrip().partition("\n")[0]
    return max(_SEPARATORS, key=head.count)  # the comma where none stands there


def _header(reader: Any) -> list[str]:
    """Return the names in the first line that is not empty, in lower case."""
    try:
        names: list[str] = next((fields for fields in reader if fields), [])
    except csv.Error:
        return []
    return [name.strip().lower() for name in names]


def _places(
    column: str, names: list[str], synonyms: Mapping[str, str], last_resorts: Collection[str]
) -> list[int]:
    """Return where a column stands: under our name, else another's, else under a last resort."""
    spaced = [re.sub(r"[\s_.-]+", " ", name) for name in names]
    theirs = {re.sub(r"[\s_.-]+", " ", name): ours for name, ours in synonyms.items()}
    own = [place for place, name in enumerate(names) if name == column]
    others = [place for place, name in enumerate(spaced) if theirs.get(name) == column]
    good = [place for place in others if names[place] not in last_resorts]
    return own or good or others


def table_bytes(path: Path, *, n_columns: int) -> bytes:
    """Return the content of a table whose rows, with so many columns, fit into the memory.

    Raises
    ------
    UnreadableRecordingError
        If they do not: before the file is read, or before its rows are made.
    """
    for_text = _BYTES_PER_BYTE * path.stat().st_size
    require_memory(for_text)
    data = path.read_bytes()
    n_rows = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    require_memory(for_text + n_rows * (_BYTES_PER_ROW + _BYTES_PER_FIELD * n_columns))
    return data


def _decode(path: Path, encoding: str, *, n_columns: int = 0) -> tuple[str | None, str, list[str]]:
    """Return a file's text, its encoding and warnings."""
    try:
        data = table_bytes(path, n_columns=n_columns)
    except OSError as error:
        return None, "", [f"{path.name}: cannot be read ({error.strerror})"]
    except UnreadableRecordingError as error:
        return None, "", [f"{path.name}: not read: {error}"]
    if encoding == ANY_ENCODING:
        return _decode_any(path, data)
    if data[:2] in _UTF_16_MARKS or b"\0" in data[:1000]:
        return None, "", [f"{path.name}: not a {encoding} text file (UTF-16 or binary); not read"]
    try:
        return data.decode(encoding), encoding, []
    except UnicodeDecodeError:
        warning = f"{path.name}: not {encoding}; read as cp1252"
        return data.decode("cp1252", "replace"), "cp1252", [warning]


def _decode_any(path: Path, data: bytes) -> tuple[str | None, str, list[str]]:
    encoding = _guess_encoding(data)
    try:
        text = data.decode(encoding, "replace" if encoding == "cp1252" else "strict")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text[:1000]:
        return None, "", [f"{path.name}: not a text file; save it as CSV (UTF-8)"]
    return text.removeprefix("\ufeff"), encoding, []


def _guess_encoding(data: bytes) -> str:
    """Return UTF-8 if the bytes are that, UTF-16 by its mark or its zeros, else windows-1252."""
    if data[:2] in _UTF_16_MARKS:
        return "utf-16"
    start = data[:1000]
    if b"\0" in start:
        return "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def check_column_name(name: str) -> None:
    """Raise DeapsError if a column could identify people or cannot be one of SQL's."""
    if not _PLAIN_NAME.fullmatch(name):
        raise DeapsError(
            f"cohort.columns has {name!r}; expected a variable's name in lower case: letters, "
            "digits and _"
        )
    if name in _TAKEN:
        raise DeapsError(
            f"cohort.columns has {name!r}, which the table subjects has already; leave it out"
        )
    if match := _IDENTIFYING.search(name):
        raise DeapsError(
            f"cohort.columns has {name!r}: a column with {match.group()!r} in its name may "
            "identify people or hold free text, and is never copied; leave it out"
        )


def read_values(
    path: Path,
    columns: Collection[str],
    keys: tuple[str, ...],
    *,
    encoding: str = ANY_ENCODING,
    synonyms: Mapping[str, str] | None = None,
    last_resorts: Collection[str] = (),
) -> tuple[list[dict[str, str]], list[str]]:
    """Return those of the ``columns`` that a table has, with its ``keys``, and warnings.

    Text that is no short code is left out and counted: it may name people.
    """
    present = [name for name in column_names(path, encoding=encoding) if name in columns]
    if not present:
        return [], []
    table = read_table(
        path,
        (*keys, *present),
        encoding=encoding,
        synonyms=synonyms,
        last_resorts=last_resorts,
    )
    rows, warnings = table.rows, table.warnings
    left_out = Counter[str]()
    for row in rows:
        for name in present:
            if row.get(name) and not _CODE.fullmatch(row[name]):
                row[name] = ""
                left_out[name] += 1
    warnings += [
        f"{path.name}: {n} values of {name} are free text: left out" for name, n in left_out.items()
    ]
    return rows, warnings


def merge_values(rows: Iterable[tuple[SubjectVisit, dict[str, str]]]) -> SubjectValues:
    """Return the values by subject and visit; of several, the first that is not empty."""
    merged: SubjectValues = {}
    for key, values in rows:
        known = merged.setdefault(key, {})
        for name, value in values.items():
            if value and not known.get(name):
                known[name] = value
    return merged
