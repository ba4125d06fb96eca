"""Names in SQL and in settings are those of the schema."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import pytest

import storage
from storage import Quality, Status, WindowColumns
from storage.windows.table import window_schema

PROJECT = Path(storage.__file__).parent.parent
PACKAGES = ("storage", "preprocessing", "deaps", "flows")


def compared_values(column: str) -> dict[str, set[str]]:
    """Return the texts that SQL in the project compares a column with, and where."""
    pattern = re.compile(rf"\b{column}\s*(?:=|<>|!=)\s*'([^']*)'")
    values: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in sorted((PROJECT / package).rglob("*")):
            if path.suffix in {".py", ".sql"}:
                for value in pattern.findall(path.read_text(encoding="utf-8")):
                    values.setdefault(value, set()).add(str(path.relative_to(PROJECT)))
    return values


@pytest.mark.parametrize(("column", "allowed"), [("status", Status), ("quality", Quality)])
def test_sql_compares_columns_with_values_of_the_schema_alone(
    column: str, allowed: type[StrEnum]
) -> None:
    values = compared_values(column)
    assert values
    assert {value: places for value, places in values.items() if value not in set(allowed)} == {}


def test_a_window_file_has_a_column_for_every_field_of_the_schema() -> None:
    assert set(window_schema().names) == {*WindowColumns.__slots__, "row", "signal"}
