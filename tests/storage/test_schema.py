"""The data contract: its words are the same in Python, in SQL and in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

from storage.schema import SourceRole
from storage.tables import tables

DOCUMENT = Path(__file__).parents[2] / "docs" / "store.md"


def test_the_tables_name_every_role_of_a_source() -> None:
    meaning = tables()["sources"].columns["role"].meaning
    assert set(SourceRole) <= set(re.findall(r"\w+", meaning))


def test_the_document_names_every_role_of_a_source() -> None:
    (row,) = re.findall(r"^\| `sources` .*$", DOCUMENT.read_text(), re.MULTILINE)
    assert set(SourceRole) <= set(re.findall(r"`(\w+)`", row))
