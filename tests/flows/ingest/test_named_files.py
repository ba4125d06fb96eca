"""Headers that name files: what no disk can hold, what is elsewhere, and what is cut short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocessing.formats.wfdb_record import read_wfdb_lead
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, one, run, settings_for
from tests.wfdb_files import write_record

ONE_SIGNAL = "r 1 250 1000\n{} 16 200 16 0 0 0 0 II\n"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (ONE_SIGNAL.format("x" * 300), "cannot be read: File name too long"),
        ("r/2 1 250 2000\nsub/s1 1000\nsub/s2 1000\n", "segments: the name of one has a folder"),
        ("r/1 1 250 1000\n../s1 1000\n", "segments: the name of one has a folder"),
    ],
)
def test_a_header_with_an_impossible_name_is_set_aside_alone(
    tmp_path: Path, header: str, reason: str
) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(40)})
    (tmp_path / "data" / "r.hea").write_text(header)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    status = dict(ask(settings, "SELECT name, status FROM recordings"))
    assert status == {"a.edf": "ok", "r.hea": "quarantined"}
    assert reason in one(settings, "SELECT reason FROM recordings WHERE name = 'r.hea'")


def test_a_file_outside_the_folder_is_not_even_hashed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_edf(data / "a.edf", {"ECG": beats(40)})
    (tmp_path / "secret").write_text("of somebody else")
    (data / "above.hea").write_text(ONE_SIGNAL.format("../secret"))
    (data / "absolute.hea").write_text(ONE_SIGNAL.format("/etc/hostname"))
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    paths = {path for (path,) in ask(settings, "SELECT path FROM sources")}
    assert paths == {"a.edf", "above.hea", "absolute.hea"}


def test_a_segment_that_is_cut_leaves_the_next_one_at_its_time(tmp_path: Path) -> None:
    signal = beats(60, 250)
    write_record(tmp_path, "s1", {"II": signal[:7500]}, fs=250, fmt="16")
    write_record(tmp_path, "s2", {"II": signal[7500:]}, fs=250, fmt="16")
    (tmp_path / "r.hea").write_text("r/2 1 250 15000\ns1 7500\ns2 7500\n")
    whole = read_wfdb_lead(tmp_path / "r.hea").signal
    first = tmp_path / "s1.dat"
    first.write_bytes(first.read_bytes()[:8000])
    cut = read_wfdb_lead(tmp_path / "r.hea")
    assert cut.truncated
    np.testing.assert_array_equal(cut.signal[:4000], whole[:4000])
    assert np.isnan(cut.signal[4000:7500]).all()
    np.testing.assert_array_equal(cut.signal[7500:], whole[7500:])
