"""What a scan reads from the published index."""

from __future__ import annotations

from pathlib import Path

from storage import RecordingRow, Snapshot, Status, load_published, published_sources
from storage.index.published import published_ids
from tests.storage.made_store import make_row, publish_rows, write_recording


def test_rows_come_back_as_they_were_published(root: Path, rows: list[RecordingRow]) -> None:
    publish_rows(root, rows)
    state = load_published(root)
    assert state is not None
    assert state.rows() == rows


def test_the_sources_of_a_recording_are_those_that_were_published(
    root: Path, rows: list[RecordingRow], published: Snapshot
) -> None:
    entry = published_sources(root)["ds", "a1"]
    assert [tuple(source) for source in entry.sources] == [
        tuple(getattr(source, name) for name in source.__slots__) for source in rows[0].sources
    ]
    assert (entry.recording_id, entry.status, entry.digest) == (1, Status.OK, rows[0].digest)
    assert published_sources(root)["ds", "bad"].status is Status.QUARANTINED


def test_recordings_are_selected_by_data_set(root: Path) -> None:
    names = [("a", "one"), ("b", "one"), ("a", "two")]
    publish_rows(root, [write_recording(root, make_row(name, of)) for name, of in names])
    state = load_published(root)
    assert state is not None
    assert set(state.of_dataset("one")) == {"a", "b"}
    assert set(state.of_dataset("two")) == {"a"}
    assert state.of_dataset("three") == {}
    assert state.datasets["two"].fingerprint == "f"


def test_ids_are_read_with_their_snapshot(root: Path, published: Snapshot) -> None:
    snapshot, ids = published_ids(root)
    assert snapshot is not None
    assert snapshot.snapshot_id == published.snapshot_id
    assert ids == {("ds", "a1"): 1, ("ds", "a2"): 2, ("ds", "a3"): 3, ("ds", "bad"): 4}
