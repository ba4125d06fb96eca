from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import RecordingRow, SourceFile, Status
from storage.index.published import assign_ids, mark_duplicates
from tests.storage.made_store import make_row, quarantined


def copy_of(content: str, name: str, dataset: str = "ds") -> RecordingRow:
    sources = (SourceFile(f"{name}.dat", "signal", 1, 1, 1, 1, content),)
    return make_row(name, dataset, sources=sources, path=f"windows/{name}")


def reasons(rows: list[RecordingRow]) -> dict[str, str | None]:
    return {row.name: row.reason for row in rows}


def test_the_first_by_natural_order_stays() -> None:
    marked = mark_duplicates([copy_of("x", "r10"), copy_of("x", "r9"), copy_of("y", "r1")])
    assert reasons(marked) == {"r1": None, "r9": None, "r10": "duplicate of r9"}
    assert [row.status for row in marked] == [Status.OK, Status.OK, Status.QUARANTINED]


def test_a_duplicate_keeps_its_file_and_revives_when_the_first_is_gone() -> None:
    _, second = mark_duplicates([copy_of("x", "r1"), copy_of("x", "r2")])
    assert second.path
    assert reasons(mark_duplicates([second])) == {"r2": None}


def test_equal_files_in_two_data_sets_are_not_duplicates() -> None:
    marked = mark_duplicates([copy_of("x", "r1", "one"), copy_of("x", "r2", "two")])
    assert reasons(marked) == {"r1": None, "r2": None}


def test_annotations_may_differ_and_quarantined_or_unhashed_recordings_do_not_count() -> None:
    annotated = copy_of("x", "r3")
    note = SourceFile("r3.atr", "annotation", 1, 1, 1, 1, "z")
    annotated = replace(annotated, sources=(note, *annotated.sources))
    bad = replace(quarantined("r1", "unreadable"), sources=copy_of("x", "r1").sources)
    marked = mark_duplicates(
        [annotated, bad, copy_of("x", "r2"), copy_of("", "a"), copy_of("", "b")]
    )
    assert reasons(marked) == {
        "a": None, "b": None, "r1": "unreadable", "r2": None, "r3": "duplicate of r2",
    }  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 30)), unique_by=lambda t: t[1]))
def test_marking_twice_or_in_another_order_changes_nothing(named: list[tuple[str, int]]) -> None:
    rows = [copy_of(content, f"r{number}") for content, number in named]
    marked = mark_duplicates(rows)
    assert mark_duplicates(marked[::-1]) == marked
    assert len({row.sources[0].sha256 for row in marked if row.status is Status.OK}) == len(
        {content for content, _ in named}
    )


def test_published_recordings_keep_ids_and_new_ones_follow_in_natural_order() -> None:
    rows = [make_row("r10"), make_row("r2"), make_row("old")]
    assert assign_ids(rows, {("ds", "old"): 3}, 8) == (
        {("ds", "old"): 3, ("ds", "r2"): 8, ("ds", "r10"): 9},
        10,
    )


def test_a_recording_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="ds/r1 was given twice"):
        assign_ids([make_row("r1"), make_row("r1")], {}, 1)
