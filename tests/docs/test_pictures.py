"""The README's pictures: which recording and which windows they show."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from docs.pictures.draw import FOLDER, read_night, typical_row
from storage.errors import DeapsError

EXCELLENT, BARELY, BAD = "Excellent", "Barely acceptable", "Unacceptable"


@pytest.fixture
def index() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an index with the columns that are read, and no recording."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE recordings (recording_id INT, name TEXT, dataset TEXT)")
        connection.execute(
            'CREATE TABLE windows (recording_id INT, "row" INT, start_s DOUBLE, quality TEXT, '
            "hr_max FLOAT, ksqi FLOAT)"
        )
        yield connection


def add(
    index: duckdb.DuckDBPyConnection, recording_id: int, qualities: list[str], dataset: str = "shhs"
) -> None:
    """Add a recording whose windows have these classes; kSQI falls from window to window."""
    index.execute(
        "INSERT INTO recordings VALUES (?, ?, ?)", [recording_id, f"r{recording_id}", dataset]
    )
    for row, quality in enumerate(qualities):
        values = [recording_id, row, 10.0 * row, quality, 60.0 + row, 9.0 - row]
        index.execute("INSERT INTO windows VALUES (?, ?, ?, ?, ?, ?)", values)


def test_a_mostly_good_night_with_the_most_bad_windows_is_shown(
    index: duckdb.DuckDBPyConnection,
) -> None:
    add(index, 1, [EXCELLENT] * 6 + [BARELY, BAD])
    add(index, 2, [EXCELLENT] * 6 + [BARELY, BAD, BAD])
    add(index, 3, [EXCELLENT] + [BARELY] * 3 + [BAD] * 5)
    add(index, 4, [EXCELLENT] * 9 + [BARELY] + [BAD] * 4, dataset="mitdb")
    recording_id, name, night = read_night(index)
    assert (recording_id, name) == (2, "r2")
    assert night.quality.tolist() == [EXCELLENT] * 6 + [BARELY, BAD, BAD]
    assert night.start_min.tolist() == pytest.approx([row / 6 for row in range(9)])


def test_a_store_without_such_a_night_says_what_to_do(index: duckdb.DuckDBPyConnection) -> None:
    add(index, 1, [EXCELLENT] * 6)
    with pytest.raises(DeapsError, match="run make demo"):
        read_night(index)


def test_the_typical_window_has_the_median_ksqi_of_its_class(
    index: duckdb.DuckDBPyConnection,
) -> None:
    add(index, 1, [EXCELLENT, BAD, BAD, EXCELLENT, EXCELLENT, BAD])
    assert typical_row(index, 1, EXCELLENT) == 3
    assert typical_row(index, 1, BAD) == 2


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.png")), ids=lambda path: path.name)
def test_pictures_are_small_and_wide_enough_to_read(path: Path) -> None:
    content = path.read_bytes()
    width, height = struct.unpack(">II", content[16:24])
    assert len(content) <= 250_000
    assert width >= 780
    assert height >= 300
