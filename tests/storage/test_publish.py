from __future__ import annotations

import multiprocessing
import re
import resource
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from storage import DatasetRow, RecordingRow, Snapshot, check_store, open_index, tables
from storage.errors import DeapsError
from storage.index import build
from storage.index.published import read_rows
from storage.locks import publisher_lock
from storage.publish import publish
from storage.snapshot import IndexVersionError
from storage.tables import create_tables_sql
from tests.storage.made_store import SETTINGS, make_row, publish_rows, quarantined, write_recording


def fetch(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with open_index(root) as index:
        return index.execute(sql).fetchall()


def ids(root: Path) -> dict[str, int]:
    return dict(fetch(root, "SELECT name, recording_id FROM recordings"))


def test_the_snapshot_counts_what_was_published(published: Snapshot) -> None:
    counted = (published.n_datasets, published.n_recordings, published.n_quarantined)
    assert counted == (1, 4, 1)
    assert published.n_windows == 15
    assert published.rebuilt


def test_windows_have_the_columns_others_build_on_in_order(root: Path, published: Snapshot) -> None:
    described = fetch(root, "SELECT column_name FROM (DESCRIBE windows)")
    names = " ".join(name for (name,) in described)
    assert names == (
        "recording_id row start_s quality quality4 quality3 quality_reason reason_value "
        "reason_limit psqi ksqi bassqi qsqi hr_max flat clipped nonfinite rhythm rhythm_share "
        "hr_mean hr_sd time_of_day stage old_stage stage_share "
        "arousal_s obstructive_apnea_s central_apnea_s mixed_apnea_s hypopnea_s desaturation_s"
    )
    rows = fetch(root, "SELECT recording_id, row FROM windows")
    assert rows == [(1, i) for i in range(4)] + [(2, i) for i in range(5)] + [
        (3, i) for i in range(6)
    ]


def test_window_values_are_those_of_the_files(root: Path, published: Snapshot) -> None:
    windows = fetch(root, "SELECT start_s, quality, psqi, qsqi, clipped FROM windows LIMIT 4")
    assert windows[1][:2] == (10.0, "Barely acceptable")
    assert [row[2] is None for row in windows] == [False, False, False, True]
    assert [row[3:] for row in windows] == [(None, False), (None, True)] * 2


def test_the_recordings_rhythm_fills_windows_without_one(root: Path) -> None:
    own = write_recording(root, make_row("a", rhythm="AF"), 2, rhythm=["N", None])
    none = write_recording(root, make_row("b"), 2)
    publish_rows(root, [own, none])
    windows = fetch(root, "SELECT recording_id, rhythm, rhythm_share FROM windows")
    assert windows == [(1, "N", None), (1, "AF", None), (2, None, None), (2, None, None)]


def test_publishing_the_same_again_writes_nothing(root: Path, rows: list[RecordingRow]) -> None:
    first = publish_rows(root, rows)
    before = (root / "index.duckdb").stat()
    again = publish_rows(root, rows[::-1])
    assert not again.rebuilt
    assert again.snapshot_id == first.snapshot_id
    assert (root / "index.duckdb").stat().st_ino == before.st_ino


def test_the_id_depends_on_content_and_settings_alone(root: Path, rows: list[RecordingRow]) -> None:
    first = publish_rows(root, rows)
    touched = [replace(row, sources=tuple(_touched(row))) for row in rows]
    assert publish_rows(root, touched).snapshot_id == first.snapshot_id
    older = [replace(rows[0], age=50.0), *rows[1:]]
    assert publish_rows(root, older).snapshot_id != first.snapshot_id
    other = publish(root, rows, datasets=[DatasetRow("ds")], settings={"highpass_hz": 1.0})
    assert other.snapshot_id != first.snapshot_id


def _touched(row: RecordingRow) -> list[Any]:
    return [replace(source, mtime_ns=source.mtime_ns + 1) for source in row.sources]


def test_touched_sources_are_remembered_under_the_same_id(
    root: Path, rows: list[RecordingRow]
) -> None:
    publish_rows(root, rows)
    assert publish_rows(root, [replace(row, sources=tuple(_touched(row))) for row in rows]).rebuilt
    assert fetch(root, "SELECT mtime_ns FROM sources LIMIT 2") == [(2,), (5,)]


def test_the_same_store_elsewhere_has_the_same_id(tmp_path: Path) -> None:
    snapshots = []
    for folder in ("one", "two"):
        row = write_recording(tmp_path / folder, make_row())
        snapshots.append(publish_rows(tmp_path / folder, [row]))
    assert snapshots[0].snapshot_id == snapshots[1].snapshot_id


def test_ids_stay_and_are_never_given_to_another_recording(
    root: Path, rows: list[RecordingRow]
) -> None:
    publish_rows(root, rows)
    assert ids(root) == {"a1": 1, "a2": 2, "a3": 3, "bad": 4}
    new = write_recording(root, make_row("a0"))
    publish_rows(root, [new, *rows[:2]])
    assert ids(root) == {"a0": 5, "a1": 1, "a2": 2}
    publish_rows(root, [*rows[:2], write_recording(root, make_row("a00"))])
    assert ids(root) == {"a00": 6, "a1": 1, "a2": 2}


def test_a_duplicate_is_published_without_windows_and_revives(root: Path) -> None:
    first = write_recording(root, make_row("r1"), 3)
    copy = write_recording(root, make_row("r2", sources=first.sources), 3)
    publish_rows(root, [copy, first])
    assert fetch(root, "SELECT name, reason FROM quarantined") == [("r2", "duplicate of r1")]
    assert fetch(root, "SELECT DISTINCT recording_id FROM windows") == [(1,)]
    with open_index(root) as index:
        kept = read_rows(index)[1]
    assert kept.path == copy.path
    publish_rows(root, [kept])
    assert fetch(root, "SELECT DISTINCT recording_id FROM windows") == [(2,)]


def test_a_recording_without_windows_has_no_file(root: Path) -> None:
    publish_rows(root, [make_row("short"), write_recording(root, make_row("r1"))])
    assert fetch(root, "SELECT name, n_windows, path FROM recordings WHERE path IS NULL") == [
        ("short", 0, None)
    ]


def test_an_empty_store_can_be_published(root: Path) -> None:
    publish(root, [], datasets=[], settings={})
    for view in ("windows", "usable_windows", "windows_with_signal", "quality_by_dataset"):
        assert fetch(root, f"FROM {view}") == []


def test_odd_names_are_only_data(root: Path) -> None:
    odd = ["../../x", "a'; DROP TABLE windows; --", "Ünï çödé", "*", "A", "a", "9" * 5000, '"{}']
    rows = [write_recording(root, make_row(name, "d'*"), 2) for name in odd]
    publish_rows(root, rows)
    assert {name for (name,) in fetch(root, "SELECT name FROM recordings")} == set(odd)
    assert fetch(root, "SELECT count(DISTINCT name), count(signal) FROM windows_with_signal") == [
        (len(odd), 2 * len(odd))
    ]
    assert all(root in path.parents for path in root.parent.rglob("*.parquet"))


def test_the_index_is_one_read_only_file(root: Path, published: Snapshot) -> None:
    assert (root / "index.duckdb").stat().st_mode & 0o777 == 0o444
    names = {"index.duckdb", "index.duckdb.sha256", "windows", ".lock"}
    assert {path.name for path in root.iterdir()} == names


@pytest.mark.parametrize(
    "change", [{"n_windows": 5}, {"n_windows": 3}, {"bytes": 7}, {"path": None}]
)
def test_rows_that_disagree_with_their_files_are_not_published(
    root: Path, rows: list[RecordingRow], published: Snapshot, change: dict[str, Any]
) -> None:
    with pytest.raises(DeapsError, match=r"ds/a1.*run deaps doctor"):
        publish_rows(root, [replace(rows[0], **change), *rows[1:]])
    assert fetch(root, "SELECT snapshot_id FROM snapshot") == [(published.snapshot_id,)]
    assert not list(root.glob(".index*"))


def test_a_row_with_somebody_elses_file_is_not_published(
    root: Path, rows: list[RecordingRow]
) -> None:
    wrong = replace(rows[0], path=rows[1].path, bytes=rows[1].bytes)
    with pytest.raises(DeapsError, match="ds/a1 has 5 windows, expected 4"):
        publish_rows(root, [wrong, *rows[1:]])


def test_a_damaged_window_file_stops_publication_with_the_next_step(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    new = write_recording(root, make_row("new"))
    path = root / str(new.path)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(DeapsError, match=r"could not be written.*deaps doctor --verify"):
        publish_rows(root, [*rows, new])
    assert fetch(root, "SELECT snapshot_id FROM snapshot") == [(published.snapshot_id,)]
    assert not list(root.glob(".index*"))


def test_a_full_disk_stops_publication_and_leaves_the_index(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))  # writing more fails
    try:
        with pytest.raises(DeapsError, match=r"could not be written.*free disk space"):
            publish_rows(root, rows[:2])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert fetch(root, "SELECT snapshot_id FROM snapshot") == [(published.snapshot_id,)]
    assert not list(root.glob(".index*"))


def test_an_open_reader_keeps_its_snapshot_and_a_new_one_sees_the_next(
    root: Path, rows: list[RecordingRow]
) -> None:
    publish_rows(root, rows)
    with open_index(root) as old:
        assert len(old.execute("FROM recordings").fetchall()) == 4
        publish_rows(root, rows[:2])
        assert len(old.execute("FROM recordings").fetchall()) == 4
        assert old.execute("SELECT count(*) FROM windows").fetchall() == [(15,)]
        assert len(fetch(root, "FROM recordings")) == 2


READER = """
import sys, time, duckdb
seen = set()
print("ready", flush=True)
end = time.monotonic() + 60
while not {4, 9} <= seen and time.monotonic() < end:
    with duckdb.connect(sys.argv[1], read_only=True) as index:
        row = index.execute(
            "SELECT n_windows, (SELECT count(*) FROM windows), (SELECT sum(n_windows) "
            "FROM recordings WHERE status = 'ok') FROM snapshot").fetchall()[0]
    assert len(set(row)) == 1, row
    seen.add(row[0])
print(sorted(seen))
"""


def test_a_reader_opened_while_publishing_sees_old_or_new_never_half(
    root: Path, rows: list[RecordingRow]
) -> None:
    publish_rows(root, rows)
    command = [sys.executable, "-c", READER, str(root / "index.duckdb")]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout
    assert reader.stdout.readline() == "ready\n"
    turn = 0
    while reader.poll() is None:
        turn += 1
        publish_rows(root, rows[: 1 + turn % 2])
    assert reader.returncode == 0
    assert set(reader.stdout.read().strip("[]\n").split(", ")) >= {"4", "9"}
    reader.stdout.close()


def test_a_publisher_waits_for_another_and_then_goes_by_its_index(
    root: Path, rows: list[RecordingRow]
) -> None:
    publish_rows(root, rows[:1])
    published: list[Snapshot] = []
    second = threading.Thread(target=lambda: published.append(publish_rows(root, rows[:2])))
    with publisher_lock(root):
        second.start()
        second.join(0.5)
        assert published == []
    second.join(30)
    assert [snapshot.n_windows for snapshot in published] == [9]
    assert ids(root) == {"a1": 1, "a2": 2}


def _publish_some(root: Path, rows: list[RecordingRow], n: int) -> str:
    return publish_rows(root, rows[:n]).snapshot_id


def test_processes_that_publish_at_the_same_time_leave_one_of_their_indexes(
    root: Path, rows: list[RecordingRow]
) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        published = pool.starmap(_publish_some, [(root, rows, 1 + i % 2) for i in range(6)])
    assert len(set(published)) == 2
    assert fetch(root, "SELECT snapshot_id FROM snapshot")[0][0] in published
    assert not list(root.glob(".index*"))


KILLED = """
import sys
from pathlib import Path
from storage import load_published
from storage.publish import publish
root = Path(sys.argv[1])
rows = load_published(root).rows()
print("ready", flush=True)
while True:
    publish(root, rows, datasets=[], settings={})
    publish(root, rows[:1], datasets=[], settings={})
"""


def test_a_killed_publisher_leaves_a_whole_index_and_no_lock(
    root: Path, rows: list[RecordingRow]
) -> None:
    publish_rows(root, rows)
    for delay in (0.01, 0.1, 0.2):
        command = [sys.executable, "-c", KILLED, str(root)]
        publisher = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert publisher.stdout
        assert publisher.stdout.readline() == b"ready\n"
        time.sleep(delay)
        assert publisher.poll() is None
        publisher.kill()
        publisher.wait()
        publisher.stdout.close()
        assert fetch(root, "SELECT count(*) FROM recordings")[0][0] in (1, 4)
        publish_rows(root, rows)


def without_synthetic_runs() -> str:
    """Return the SQL of the version before runs said whether their data were synthetic."""
    return re.sub(r"(config JSON),([^\n]*)\n *synthetic BOOLEAN", r"\1 \2", create_tables_sql())


def test_an_index_without_newer_columns_gets_them_at_the_next_publication(
    root: Path, rows: list[RecordingRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "SELECT column_name FROM (DESCRIBE runs)"
    with monkeypatch.context() as older:
        sql = without_synthetic_runs()
        for module in (build, tables):
            older.setattr(module, "create_tables_sql", lambda: sql)
        publish_rows(root, rows)
    assert ("synthetic",) not in fetch(root, columns)
    assert publish_rows(root, rows).rebuilt
    assert ("synthetic",) in fetch(root, columns)
    assert not publish_rows(root, rows).rebuilt


def test_an_index_of_another_version_is_kept_and_named(
    root: Path, rows: list[RecordingRow]
) -> None:
    root.mkdir(exist_ok=True)
    with duckdb.connect(root / "index.duckdb") as foreign:
        foreign.execute("CREATE TABLE snapshot AS SELECT 99 AS schema_version")
    before = (root / "index.duckdb").read_bytes()
    with pytest.raises(IndexVersionError, match=r"schema version 99.*another store\.root"):
        publish_rows(root, rows)
    assert (root / "index.duckdb").read_bytes() == before


WRITER = """
import os, sys, duckdb
writer = duckdb.connect(sys.argv[1])
writer.execute("SET checkpoint_threshold = '1 TB'")
writer.execute("CREATE TABLE mine AS SELECT 1 AS x")
writer.execute("INSERT INTO mine VALUES (2)")
print("ready", flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
sys.stdin.read()
"""


def start_writer(root: Path, how: str) -> subprocess.Popen[str]:
    (root / "index.duckdb").chmod(0o644)
    command = [sys.executable, "-c", WRITER, str(root / "index.duckdb"), how]
    pipe = subprocess.PIPE
    writer = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def test_log_of_a_killed_writer_does_not_outlive_a_publication(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    with start_writer(root, "killed"):
        pass
    assert (root / "index.duckdb.wal").exists()
    assert [finding.kind for finding in check_store(root)] == ["wal"]
    with open_index(root) as index:
        assert index.execute("SELECT count(*) FROM recordings").fetchall() == [(4,)]
    publish_rows(root, rows[:1])
    assert not (root / "index.duckdb.wal").exists()
    with duckdb.connect(root / "index.duckdb", read_only=True) as index:
        assert index.execute("SELECT count(*) FROM recordings").fetchall() == [(1,)]


def test_publication_without_changes_removes_a_writers_log(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    with start_writer(root, "killed"):
        pass
    assert not publish_rows(root, rows).rebuilt
    assert check_store(root) == []


def test_publication_succeeds_and_keeps_ids_while_a_writer_has_the_index_open(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    before = ids(root)
    writer = start_writer(root, "open")
    try:
        publish_rows(root, rows[1:])
    finally:
        writer.communicate(timeout=30)
    assert ids(root) == {name: before[name] for name in ids(root)}
    (root / "index.duckdb.wal").unlink(missing_ok=True)
    assert [f.kind for f in check_store(root) if f.is_error] == []


def test_a_store_at_a_path_with_quotes_and_equal_signs_works(tmp_path: Path) -> None:
    root = tmp_path / "it's a = store, #1 {x}"
    publish_rows(root, [write_recording(root, make_row(), 3)])
    assert fetch(root, "SELECT count(signal) FROM windows_with_signal") == [(3,)]


def test_a_store_whose_path_is_a_pattern_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match="reads as a pattern"):
        publish(tmp_path / "a*", [], datasets=[], settings=SETTINGS)


def test_the_views_answer_what_people_ask_first(root: Path, rows: list[RecordingRow]) -> None:
    publish_rows(root, rows)
    assert fetch(root, "FROM cross_visit_subjects") == [("ds", "s1", 2, 2, 7)]
    assert fetch(root, "SELECT quality, n_windows, n_recordings FROM quality_by_dataset") == [
        ("Excellent", 6, 3),
        ("Barely acceptable", 5, 3),
        ("Unacceptable", 4, 3),
    ]
    assert fetch(root, "SELECT sum(share) FROM quality_by_dataset") == [(1.0,)]
    assert fetch(root, "SELECT count(*), count(DISTINCT subject) FROM usable_windows") == [(11, 2)]
    assert fetch(root, "SELECT name, reason FROM quarantined") == [("bad", "no ECG channel")]
    counted = fetch(root, "SELECT dataset, n_recordings, n_quarantined, n_windows FROM datasets")
    assert counted == [("ds", 4, 1, 15)]


def test_rhythms_are_counted_by_data_set(root: Path) -> None:
    rows = [
        write_recording(root, make_row("a"), 3, rhythm=["N", "AF", "N"]),
        write_recording(root, make_row("b", rhythm="AF"), 2),
        quarantined("c", "unreadable", rhythm="other"),
    ]
    publish_rows(root, rows)
    assert fetch(root, "FROM rhythm_by_dataset") == [("ds", "AF", 3, 2), ("ds", "N", 2, 1)]


def test_publication_time_is_utc(published: Snapshot) -> None:
    age = datetime.now(UTC) - published.published_at.replace(tzinfo=UTC)
    assert timedelta(0) <= age < timedelta(minutes=5)
