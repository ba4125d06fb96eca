"""The table of subjects: typed columns of the cohorts' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from storage.publish import publish, republish
from storage.schema import DatasetRow, SubjectRow
from storage.snapshot import open_index
from tests.storage.made_store import SETTINGS, make_row, write_recording

VALUES = {"bmi_s1": "37.30", "hrqual": "4", "site": "A1"}


def publish_subjects(root: Path, *subjects: SubjectRow) -> bool:
    rows = [
        write_recording(root, make_row(name, subject=subject, visit=visit), 6)
        for name, subject, visit in (("r1", "p1", 1), ("r2", "p1", 2), ("r3", "p2", 1))
    ]
    snapshot = publish(
        root, rows, datasets=[DatasetRow("ds")], settings=SETTINGS, subjects=subjects
    )
    return snapshot.rebuilt


def ask(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with open_index(root) as index:
        return index.execute(sql).fetchall()


def test_columns_have_types_and_what_is_empty_is_null(root: Path) -> None:
    publish_subjects(
        root, SubjectRow("ds", "p1", 1, VALUES), SubjectRow("ds", "p2", 1, {"bmi_s1": "21"})
    )
    types = ask(root, "SELECT column_name, column_type FROM (DESCRIBE subjects) OFFSET 3")
    assert types == [("bmi_s1", "DOUBLE"), ("hrqual", "BIGINT"), ("site", "VARCHAR")]
    assert ask(root, "SELECT * EXCLUDE (dataset) FROM subjects ORDER BY ALL") == [
        ("p1", 1, 37.3, 4, "A1"),
        ("p1", 2, None, None, None),
        ("p2", 1, 21.0, None, None),
    ]


def test_the_views_have_the_columns(root: Path) -> None:
    publish_subjects(root, SubjectRow("ds", "p1", 1, VALUES))
    found = ask(root, "SELECT DISTINCT name, bmi_s1 FROM usable_windows ORDER BY name")
    assert found == [("r1", 37.3), ("r2", None), ("r3", None)]


def test_without_columns_there_are_still_subjects(root: Path) -> None:
    publish_subjects(root)
    assert ask(root, "FROM subjects ORDER BY ALL") == [
        ("ds", "p1", 1), ("ds", "p1", 2), ("ds", "p2", 1),
    ]  # fmt: skip
    assert ask(root, "FROM quality_grades") == []


def test_publishing_again_keeps_the_columns_and_writes_nothing(root: Path) -> None:
    publish_subjects(root, SubjectRow("ds", "p1", 1, VALUES))
    assert republish(root).rebuilt is False
    assert publish_subjects(root, SubjectRow("ds", "p1", 1, VALUES)) is False
    assert publish_subjects(root, SubjectRow("ds", "p1", 1, VALUES | {"hrqual": "5"})) is True


def test_the_snapshot_of_trainings_does_not_depend_on_them(root: Path) -> None:
    publish_subjects(root)
    before = ask(root, "SELECT snapshot_id FROM snapshot")
    publish_subjects(root, SubjectRow("ds", "p1", 1, VALUES))
    assert ask(root, "SELECT snapshot_id FROM snapshot") == before


def test_grades_stand_beside_the_share_of_unacceptable_windows(root: Path) -> None:
    publish_subjects(
        root, SubjectRow("ds", "p1", 1, {"hrqual": "4"}), SubjectRow("ds", "p1", 2, {"quhr": "2"})
    )
    found = ask(root, "SELECT name, grade, n_windows, unacceptable_share FROM quality_grades")
    assert found == [("r1", 4.0, 6, pytest.approx(1 / 3)), ("r2", 2.0, 6, pytest.approx(1 / 3))]
