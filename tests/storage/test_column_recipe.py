"""The recipe for a column of windows: a line of SQL and its computation, and it is everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from preprocessing.chain import ProcessedRecording
from storage import tables
from storage.index.columns import schema_markdown, schema_rows
from storage.snapshot import open_index
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for

LINE = "    loudness FLOAT,             -- [file] Mean square of the window.\n"


@pytest.fixture
def _declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Declare and compute one column more, as a change of two files would."""
    sql = tables.create_tables_sql()
    assert sql.count("    time_of_day TIME,") == 1
    sql = sql.replace("    time_of_day TIME,", f"{LINE}    time_of_day TIME,")
    computed = ProcessedRecording.window_columns

    def with_loudness(self: ProcessedRecording) -> dict[str, object]:
        samples = self.windows.astype(np.float32)
        return computed(self) | {"loudness": np.square(samples).mean(axis=1)}

    with monkeypatch.context() as changed:
        changed.setattr(tables, "create_tables_sql", lambda: sql)
        changed.setattr("storage.index.build.create_tables_sql", lambda: sql)
        changed.setattr(ProcessedRecording, "window_columns", with_loudness)
        tables.tables.cache_clear()
        measured = tables.window_columns("", "file", "recording")
        changed.setattr("storage.index.rows._MEASURED", measured)
        yield
    tables.tables.cache_clear()


@pytest.mark.usefixtures("_declared")
def test_a_declared_column_is_in_files_index_view_comments_and_documentation(
    tmp_path: Path,
) -> None:
    write_edf(tmp_path / "data/a.edf", {"ECG": beats(35)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    (path,) = (tmp_path / "store/windows").rglob("*.parquet")
    stored = pq.read_table(path, columns=["loudness"])["loudness"].to_pylist()
    assert len(stored) == 3
    assert ask(settings, "SELECT loudness FROM windows") == [(value,) for value in stored]
    with_signal = ask(
        settings,
        "SELECT loudness, list_sum(list_transform(signal, lambda x: x * x)) / 1000 "
        "FROM windows_with_signal ORDER BY start_s",
    )
    assert [value for value, _ in with_signal] == stored
    for value, again in with_signal:
        assert value == pytest.approx(again, rel=1e-3)
    with open_index(tmp_path / "store") as index:
        meanings = {
            row.table: row.description for row in schema_rows(index) if row.column == "loudness"
        }
    assert meanings == dict.fromkeys(meanings, "Mean square of the window.")
    assert {"windows", "windows_with_signal", "usable_windows"} <= set(meanings)
    assert "| `loudness` | FLOAT | Mean square of the window. |" in schema_markdown()


def test_a_column_that_is_computed_and_not_declared_is_refused_with_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = ProcessedRecording.window_columns
    monkeypatch.setattr(
        ProcessedRecording, "window_columns", lambda self: computed(self) | {"loudness": [0.0] * 3}
    )
    write_edf(tmp_path / "data/a.edf", {"ECG": beats(35)})
    with pytest.raises(ValueError, match=r"storage/sql/tables\.sql declares"):
        run(settings_for(tmp_path / "store", folder=tmp_path / "data"))
