"""The data contract: its words are the same in Python, in SQL and in the documentation."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from storage.schema import SourceRole

DOCUMENT = Path(__file__).parents[2] / "docs" / "store.md"


def test_the_tables_name_every_role_of_a_source() -> None:
    tables = (resources.files("storage.index") / "sql" / "tables.sql").read_text()
    (line,) = re.findall(r"^ +role VARCHAR.*-- (.*)$", tables, re.MULTILINE)
    assert line.split(", ") == list(SourceRole)


def test_the_document_names_every_role_of_a_source() -> None:
    (row,) = re.findall(r"^\| `sources` .*$", DOCUMENT.read_text(), re.MULTILINE)
    assert set(SourceRole) <= set(re.findall(r"`(\w+)`", row))
