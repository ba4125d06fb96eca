from __future__ import annotations

import json
from dataclasses import asdict

from storage import RecordingRow, Sex, Status
from storage.windows import recording_from_json, recording_to_dict, recording_to_json
from tests.storage.made_store import make_row, quarantined

FULL = make_row(
    "ünï 'name'", sex=Sex.FEMALE, age=61.5, label="A", split="train", rhythm="AF",
    duration_s=30.0, channel="ECG", n_windows=3, dropped_s=0.5, polarity=-1.0, truncated=True,
    rhythms=("AF", "N"), path="windows/x", signal_offset=4, bytes=7, file_sha256="f",
    settings_digest="s", versions="windows=2", signal_digest="x", scoring_version=2,
    checked_at_ns=5, reason="reason",
    clock_s=81_000.0, scoring_digest="d", scoring_notes=("no Profusion scoring",),
)  # fmt: skip


def test_a_row_with_every_field_comes_back_from_json() -> None:
    empty = RecordingRow("ds", "r", "s", 1, Status.OK)
    unset = [name for name in FULL.__slots__ if getattr(FULL, name) == getattr(empty, name)]
    assert unset == ["dataset", "visit", "status"]
    for row in (FULL, empty, quarantined("bad", "no ECG channel")):
        assert recording_from_json(recording_to_json(row)) == row


def test_a_row_as_a_dictionary_is_what_json_holds() -> None:
    assert recording_to_dict(FULL) == json.loads(json.dumps(asdict(FULL)))
