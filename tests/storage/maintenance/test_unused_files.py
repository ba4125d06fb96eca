from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storage import RecordingRow, Snapshot, WindowStore, remove_unused_files
from storage.errors import DeapsError
from storage.locks import publisher_lock, writer_lock
from storage.snapshot import IndexMissingError, IndexVersionError
from tests.storage.made_store import make_row, publish_rows, write_recording


def test_a_tidy_store_keeps_everything(root: Path, published: Snapshot) -> None:
    assert remove_unused_files(root, dry_run=False) == []
    assert WindowStore(root).read_recording(3).shape == (6, 1000)


def test_files_that_no_index_names_go(root: Path, rows: list[RecordingRow]) -> None:
    publish_rows(root, rows)
    publish_rows(root, rows[:1])
    expected = [root / str(row.path) for row in rows[1:3]]
    assert remove_unused_files(root, dry_run=True) == expected
    assert all(path.exists() for path in expected)
    assert remove_unused_files(root, dry_run=False) == expected
    assert not any(path.parent.exists() for path in expected)
    assert (root / str(rows[0].path)).exists()


def test_files_that_a_run_still_names_stay(root: Path, rows: list[RecordingRow]) -> None:
    publish_rows(root, rows)
    link = root / "runs/run1/index.duckdb"
    link.parent.mkdir(parents=True)
    link.hardlink_to(root / "index.duckdb")
    publish_rows(root, rows[:1])
    assert remove_unused_files(root, dry_run=False) == []


def test_files_of_duplicates_stay(root: Path) -> None:
    first = write_recording(root, make_row("r1"))
    publish_rows(root, [first, write_recording(root, make_row("r2", sources=first.sources))])
    assert remove_unused_files(root, dry_run=False) == []


def test_checkpoints_go_with_the_end_of_their_run(root: Path, published: Snapshot) -> None:
    for run in ("ended", "going"):
        folder = root / f"runs/{run}/checkpoints/step-00000002"
        folder.mkdir(parents=True)
        (folder / "state.pt").write_bytes(b"")
    (root / "runs/ended/run.json").write_text("{}")
    expected = [root / "runs/ended/checkpoints/step-00000002/state.pt"]
    assert remove_unused_files(root, dry_run=False) == expected
    assert [path.name for path in (root / "runs/ended").iterdir()] == ["run.json"]
    assert (root / "runs/going/checkpoints/step-00000002/state.pt").exists()


def test_temporary_files_go_after_an_hour(root: Path, published: Snapshot) -> None:
    fresh, old = root / "windows/ds/.new.tmp", root / "windows/ds/.old.tmp"
    for path in (fresh, old):
        path.write_bytes(b"")
    os.utime(old, (time.time() - 4000,) * 2)
    assert remove_unused_files(root, dry_run=False) == [old]
    assert fresh.exists()


def test_lock_files_stay_however_old(root: Path, published: Snapshot) -> None:
    locks = [root / ".lock", root / ".writers.lock"]
    for path in locks:
        path.touch()
        os.utime(path, (time.time() - 4000,) * 2)
    assert remove_unused_files(root, dry_run=False) == []
    assert all(path.exists() for path in locks)


def test_nothing_goes_while_window_files_are_written(root: Path, published: Snapshot) -> None:
    written = write_recording(root, make_row("new"))
    with writer_lock(root), pytest.raises(DeapsError, match="try again when it has ended"):
        remove_unused_files(root, dry_run=False)
    assert (root / str(written.path)).exists()


def test_removal_waits_for_a_publisher(root: Path, rows: list[RecordingRow]) -> None:
    publish_rows(root, rows)
    publish_rows(root, rows[:1])
    removal = threading.Thread(target=remove_unused_files, args=[root], kwargs={"dry_run": False})
    with publisher_lock(root):
        removal.start()
        removal.join(0.5)
        assert (root / str(rows[1].path)).exists()
    removal.join(20)
    assert not (root / str(rows[1].path)).exists()


def test_nothing_goes_without_a_published_index(root: Path) -> None:
    row = write_recording(root, make_row())
    with pytest.raises(IndexMissingError):
        remove_unused_files(root, dry_run=False)
    assert (root / str(row.path)).exists()
    assert not (root / ".lock").exists()


def test_nothing_goes_if_a_runs_index_cannot_be_read(root: Path, published: Snapshot) -> None:
    row = write_recording(root, make_row("new"))
    link = root / "runs/run1/index.duckdb"
    link.parent.mkdir(parents=True)
    link.write_bytes(b"broken")
    with pytest.raises(IndexVersionError):
        remove_unused_files(root, dry_run=False)
    assert (root / str(row.path)).exists()


def test_old_logs_go_and_others_stay(root: Path, published: Snapshot) -> None:
    today = datetime.now(UTC).date()
    names = [f"{today - timedelta(days=n)}.jsonl" for n in (0, 90, 91)] + ["notes.jsonl"]
    for name in names:
        path = root / "logs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    assert remove_unused_files(root, dry_run=False) == []
    assert remove_unused_files(root, dry_run=True, keep_logs_days=90) == [root / "logs" / names[2]]
    remove_unused_files(root, dry_run=False, keep_logs_days=90)
    assert sorted(path.name for path in root.glob("logs/*")) == sorted([*names[:2], names[3]])
