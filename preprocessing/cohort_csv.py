"""Cohort tables: CSV files of subjects; what is missing or odd gives a warning, not an error."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from storage.schema import Sex

_SEXES = {
    "1": Sex.MALE, "2": Sex.FEMALE, "male": Sex.MALE, "female": Sex.FEMALE,
    "m": Sex.MALE, "f": Sex.FEMALE,
}  # fmt: skip


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
    path: Path, columns: tuple[str, ...], *, encoding: str = "utf-8-sig"
) -> tuple[list[dict[str, str]], list[str]]:
    """Return the rows of a CSV file, with just ``columns``, and warnings.

    A missing column is a warning and its values are left out; a file in another encoding is
    read as windows-1252, with a warning, since then only accented letters may be wrong.
    """
    text, warnings = _decode(path, encoding)
    if text is None:
        return [], warnings
    reader = csv.DictReader(io.StringIO(text))
    names = {name.strip().lower(): name for name in _field_names(reader)}
    missing = [column for column in columns if column.lower() not in names]
    if missing:
        warnings.append(f"{path.name}: no column {', '.join(map(repr, missing))}")
    present = {column: names[column.lower()] for column in columns if column not in missing}
    rows: list[dict[str, str]] = []
    try:
        for row in _rows(reader, present):
            rows.append(row)  # noqa: PERF402 - rows before the damage are kept
    except csv.Error:
        warnings.append(f"{path.name}: damaged after row {len(rows) + 1:,}, e.g. an open quote")
    return rows, warnings


def column_names(path: Path, *, encoding: str = "utf-8-sig") -> list[str]:
    """Return the columns of a CSV file in lower case; none where it cannot be read."""
    text, _ = _decode(path, encoding)
    names = _field_names(csv.DictReader(io.StringIO(text))) if text is not None else []
    return [name.strip().lower() for name in names]


def _field_names(reader: csv.DictReader[str]) -> list[str]:
    try:
        return list(reader.fieldnames or ())
    except csv.Error:
        return []


def _rows(reader: csv.DictReader[str], present: dict[str, str]) -> Iterator[dict[str, str]]:
    for row in reader:
        yield {column: (row[name] or "").strip() for column, name in present.items()}


def _decode(path: Path, encoding: str) -> tuple[str | None, list[str]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        return None, [f"{path.name}: cannot be read ({error.strerror})"]
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:1000]:
        return None, [f"{path.name}: not a {encoding} text file (UTF-16 or binary); not read"]
    try:
        return data.decode(encoding), []
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), [f"{path.name}: not {encoding}; read as cp1252"]
