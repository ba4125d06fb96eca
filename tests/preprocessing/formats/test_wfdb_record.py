"""WFDB records that are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from preprocessing.recording import UnreadableRecordingError
from tests.preprocessing.datasets.reading import read, two_leads
from tests.wfdb_files import write_record


def test_short_dat_is_read_and_flagged(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(40, 360, "MLII", "V1"))
    dat = tmp_path / "203.dat"
    dat.write_bytes(dat.read_bytes()[: 3 * 360 * 25])
    raw = read("mitdb", tmp_path, "203")
    assert raw.truncated
    assert raw.signal.size == 360 * 25


def test_empty_dat_is_refused(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(20, 360, "MLII", "V1"))
    (tmp_path / "203.dat").write_bytes(b"")
    with pytest.raises(UnreadableRecordingError, match="zero length"):
        read("mitdb", tmp_path, "203")


def test_broken_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "999.hea").write_bytes(b"\x00\xff garbage\n\n")
    with pytest.raises(UnreadableRecordingError):
        read("mitdb", tmp_path, "999")
