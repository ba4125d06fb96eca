from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from storage import RecordingRow, Snapshot, check_store, load_published, open_index
from storage.snapshot import IndexVersionError
from tests.storage.made_store import make_row, publish_rows, write_recording


def kinds(root: Path, *, verify: bool = False) -> list[str]:
    return [finding.kind for finding in check_store(root, verify=verify)]


def test_a_sound_store_has_no_findings(root: Path, published: Snapshot) -> None:
    assert check_store(root, verify=True) == []


@pytest.mark.parametrize("place", ["signal", "footer"])
def test_a_flipped_byte_is_found_when_asked_to_verify(
    root: Path, rows: list[RecordingRow], published: Snapshot, place: str
) -> None:
    path = root / str(rows[1].path)
    content = bytearray(path.read_bytes())
    at = (rows[1].signal_offset or 0) + 3_210 if place == "signal" else len(content) - 200
    content[at] ^= 1
    path.write_bytes(content)
    (finding,) = check_store(root, verify=True)
    assert (finding.kind, finding.path) == ("sha256", rows[1].path)
    assert finding.is_error
    assert "ds/a2" in finding.message


def test_files_are_hashed_only_when_asked(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    path = root / str(rows[1].path)
    content = bytearray(path.read_bytes())
    content[rows[1].signal_offset or 0] ^= 1
    path.write_bytes(content)
    assert check_store(root) == []


def test_a_missing_and_a_cut_file_are_found(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    (root / str(rows[0].path)).unlink()
    (root / str(rows[1].path)).write_bytes(b"cut")
    assert kinds(root) == ["missing", "size"]


def test_a_file_that_was_written_otherwise_is_found(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    path = root / str(rows[0].path)
    path.write_bytes(b"PAR1" + bytes(path.stat().st_size - 4))
    assert kinds(root) == ["offset"]


def test_leftovers_are_found_and_harm_nobody(root: Path, published: Snapshot) -> None:
    (root / "windows/ds/.x.parquet.tmp").write_bytes(b"")
    (root / ".index.duckdb.tmp").write_bytes(b"")
    orphan = write_recording(root, make_row("left over"))
    findings = check_store(root)
    assert [finding.kind for finding in findings] == ["temporary", "temporary", "orphan"]
    assert findings[2].path == orphan.path
    assert not any(finding.is_error for finding in findings)


def test_a_wal_beside_the_index_is_found(root: Path, published: Snapshot) -> None:
    (root / "index.duckdb.wal").write_bytes(b"")
    assert "wal" in kinds(root)


def test_a_store_without_an_index_or_with_another_version_is_reported(root: Path) -> None:
    root.mkdir()
    assert kinds(root) == ["no index"]
    with duckdb.connect(root / "index.duckdb") as foreign:
        foreign.execute("CREATE TABLE snapshot AS SELECT 99 AS schema_version")
    assert kinds(root) == ["index version"]


def flip(path: Path, at: int, bit: int = 0) -> None:
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def test_any_flipped_bit_of_the_index_is_found(root: Path, published: Snapshot) -> None:
    index = root / "index.duckdb"
    whole = index.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 40):
        flip(index, int(at))
        assert any(finding.is_error for finding in check_store(root)), at
        with pytest.raises(IndexVersionError):
            open_index(root).close()
        index.write_bytes(whole)


def test_damaged_index_is_published_again(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    flip(root / "index.duckdb", 5000)
    assert load_published(root) is None
    assert publish_rows(root, rows).rebuilt
    assert check_store(root, verify=True) == []


def test_digest_names_the_index_after_a_kill_between_the_two(
    root: Path, rows: list[RecordingRow], published: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    from storage.files import write_digests

    class Killed(BaseException):
        pass

    for allowed in (0, 1):  # killed before the first and before the second note of digests
        calls = iter(range(3))

        def note(*given: Any, calls: Iterator[int] = calls, allowed: int = allowed) -> None:
            if next(calls) >= allowed:
                raise Killed
            write_digests(*given)

        monkeypatch.setattr("storage.publish.write_digests", note)
        with pytest.raises(Killed):
            publish_rows(root, rows[:1])
        assert [finding for finding in check_store(root) if finding.is_error] == []
        open_index(root).close()


def test_index_without_a_digest_is_read_and_named(root: Path, published: Snapshot) -> None:
    (root / "index.duckdb.sha256").unlink()
    (finding,) = check_store(root)
    assert (finding.kind, finding.is_error) == ("no digest", False)
    open_index(root).close()
