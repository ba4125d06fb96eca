from __future__ import annotations

import pytest

from storage.index.recording_ids import assign_ids
from tests.storage.made_store import make_row


def test_known_recordings_keep_ids_and_new_ones_follow_in_natural_order() -> None:
    rows = [make_row("r10"), make_row("r2"), make_row("old")]
    assert assign_ids(rows, {("ds", "old"): 3}, 8) == (
        {("ds", "old"): 3, ("ds", "r2"): 8, ("ds", "r10"): 9},
        10,
    )


def test_a_recording_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="ds/r1 was given twice"):
        assign_ids([make_row("r1"), make_row("r1")], {}, 1)
