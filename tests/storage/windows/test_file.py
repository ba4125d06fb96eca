from __future__ import annotations

import contextlib
import os
import signal as signals
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import RecordingRow, read_recording_row, window_path, write_window_file
from storage.files import is_temporary
from storage.windows import WindowFileError, check_pages, signal_offset
from tests.storage.made_store import make_columns, make_row, make_signal, write_recording

COLUMNS = [
    *("row", "start_s", "quality", "quality4", "quality3", "quality_reason", "reason_value"),
    *("reason_limit", "psqi", "ksqi", "bassqi", "qsqi", "hr_max", "flat", "clipped"),
    *("nonfinite", "rhythm", "rhythm_share", "hr_mean", "hr_sd"),
    *("beat_offset_s", "beat_trusted", "beat_normal", "signal"),
]


def stored_signal(root: Path, row: RecordingRow) -> np.ndarray:
    assert row.path
    block = np.fromfile(root / row.path, np.uint8, row.n_windows * 2000, offset=row.signal_offset)
    return block.view(np.float16).reshape(-1, 1000)


@pytest.mark.parametrize("n", [1, 2, 7, 25_000])
def test_the_signal_lies_in_the_file_as_one_block(root: Path, n: int) -> None:
    row = write_recording(root, make_row(), n)
    assert np.array_equal(stored_signal(root, row), make_signal(n))


def test_parquet_readers_see_the_columns_in_order(root: Path) -> None:
    row = write_recording(root, make_row(), 4, rhythm=["AF", None, "N", ""])
    table = pq.read_table(root / str(row.path), page_checksum_verification=True)
    assert table.column_names == COLUMNS
    assert table["quality"].to_pylist()[:3] == ["Excellent", "Barely acceptable", "Unacceptable"]
    assert table["rhythm"].to_pylist() == ["AF", None, "N", None]
    assert np.array_equal(np.stack(table["signal"].to_numpy()), make_signal(4))


def test_what_is_unknown_is_null(root: Path) -> None:
    table = pq.read_table(root / str(write_recording(root, make_row(), 3).path))
    nulls = {name: table[name].null_count for name in COLUMNS if table[name].null_count}
    assert nulls == {"quality_reason": 1, "psqi": 1, "qsqi": 3, "rhythm": 3, "rhythm_share": 3}


def test_only_what_can_be_unknown_may_be_null(root: Path) -> None:
    schema = pq.read_schema(root / str(write_recording(root, make_row(), 3).path))
    scores = {"psqi", "ksqi", "bassqi", "qsqi", "hr_max", "hr_mean", "hr_sd"}
    nullable = {field.name for field in schema if field.nullable}
    reasons = {"quality_reason", "reason_value", "reason_limit"}
    assert nullable == {*reasons, *scores, "rhythm", "rhythm_share"}
    assert not schema.field("signal").type.value_field.nullable


def test_only_text_columns_have_dictionaries_and_nothing_is_compressed(root: Path) -> None:
    group = pq.read_metadata(root / str(write_recording(root, make_row(), 3).path)).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert {c.compression for c in columns} == {"UNCOMPRESSED"}
    with_dictionary = {c.path_in_schema for c in columns if c.has_dictionary_page}
    assert with_dictionary == {"quality", "quality4", "quality3", "quality_reason", "rhythm"}


def test_the_recordings_row_comes_back_from_the_file(root: Path) -> None:
    row = write_recording(root, make_row("odd 'name'", age=61.5), 3, rhythm=["b", "a", "b"])
    bare = [replace(source, mtime_ns=0, ctime_ns=0, inode=0) for source in row.sources]
    assert row.rhythms == ("a", "b")
    kept = replace(row, subject="", visit=1, sources=tuple(bare))
    assert read_recording_row(root / str(row.path)) == kept


def test_equal_windows_make_equal_files_whenever_sources_were_touched(root: Path) -> None:
    row = make_row()
    sources = tuple(replace(source, mtime_ns=99, inode=7) for source in row.sources)
    touched = replace(row, sources=sources, checked_at_ns=5)
    first = write_recording(root, row)
    assert write_recording(root, touched).file_sha256 == first.file_sha256


def test_nothing_but_the_file_is_left(root: Path) -> None:
    row = write_recording(root, make_row())
    assert [p for p in root.rglob("*") if p.is_file()] == [root / str(row.path)]


@pytest.mark.parametrize(
    ("signal", "columns", "message"),
    [
        (make_signal(3), make_columns(4), "signal has 3 windows, but columns have"),
        (make_signal(3).astype(np.float32), make_columns(3), "float32 .3, 1000.; expected float16"),
        (make_signal(0), make_columns(0), "at least one window"),
        (make_signal(1), make_columns(1, quality=np.array([3], np.int8)), "allowed are -1"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_no_file(
    root: Path, signal: np.ndarray, columns: object, message: str
) -> None:
    row = make_row()
    path = root / window_path(row.dataset, row.name, str(row.digest))
    with pytest.raises(ValueError, match=message):
        write_window_file(path, columns, signal, row)  # type: ignore[arg-type]
    assert not list(root.rglob("*.parquet"))


def test_a_path_that_is_not_the_recordings_own_is_refused(root: Path) -> None:
    with pytest.raises(ValueError, match=r"expected <store>/windows/ds/r1/"):
        write_window_file(root / "x.parquet", make_columns(1), make_signal(1), make_row())


def test_a_cut_file_is_no_window_file(root: Path) -> None:
    path = root / str(write_recording(root, make_row()).path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(WindowFileError, match="no whole window file"):
        signal_offset(path)


def test_a_foreign_parquet_file_is_no_window_file(tmp_path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(WindowFileError, match="schema version none; this program reads 2"):
        read_recording_row(tmp_path / "x.parquet")


@pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff", b'{"status": "fine"}', b"{}", None])
def test_a_file_without_the_row_of_a_recording_is_no_window_file(
    root: Path, content: bytes | None
) -> None:
    path = root / str(write_recording(root, make_row()).path)
    table = pq.read_table(path)
    metadata = {b"deaps.schema_version": b"2"}
    metadata |= {} if content is None else {b"deaps.recording": content}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(WindowFileError, match="no whole window file"):
        read_recording_row(path)


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_wrong_with_the_end_of_a_file_has_one_error(
    tmp_path: Path, data: st.DataObject
) -> None:
    row = write_recording(tmp_path, make_row(), 1)
    path = tmp_path / str(row.path)
    content = bytearray(path.read_bytes())
    end = len(content)
    for at in data.draw(st.lists(st.integers(row.signal_offset + 2000, end - 1), min_size=1)):
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    for read in (signal_offset, read_recording_row, check_pages):
        with contextlib.suppress(WindowFileError):  # any other error fails the test
            read(path)


def test_a_changed_bit_of_the_footer_never_changes_the_row_or_moves_the_signal(
    tmp_path: Path,
) -> None:
    row = write_recording(tmp_path, make_row(), 2)
    path = tmp_path / str(row.path)
    whole = path.read_bytes()
    written = read_recording_row(path)
    end = len(whole) - 8
    start = end - int.from_bytes(whole[-8:-4], "little")
    for at in range(start, end, 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with contextlib.suppress(WindowFileError):
            check_pages(path)
            assert replace(read_recording_row(path), file_sha256=None) == replace(
                written, file_sha256=None
            )


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_recording_row(tmp_path / "nothing.parquet")


WRITER = """
import sys
from pathlib import Path
from tests.storage.made_store import make_row, write_recording
root = Path(sys.argv[1])
for i in range(10_000):
    write_recording(root, make_row(f"r{i}"), 2_000)
"""


def test_a_killed_writer_leaves_no_half_file_under_a_final_name(root: Path) -> None:
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root)])
        deadline = time.monotonic() + 60
        while not list(root.rglob("*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.013)
        os.kill(writer.pid, signals.SIGKILL)
        writer.wait()
        finished = [path for path in root.rglob("*.parquet") if not is_temporary(path)]
        assert finished
        for path in finished:
            assert read_recording_row(path).n_windows == 2_000
            path.unlink()
