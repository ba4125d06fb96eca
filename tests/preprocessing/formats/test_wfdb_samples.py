"""WFDB samples: each format equals what the WFDB library reads, and legal headers are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.channels import ECG_ALIASES
from preprocessing.datasets.folder import Folder
from preprocessing.formats.wfdb_record import read_wfdb_lead
from preprocessing.recording import UnreadableRecordingError
from tests.edf_files import beats
from tests.wfdb_files import write_record

FORMATS = ("16", "24", "32", "61", "80", "160", "212", "310", "311", "8")


def library(path: Path, index: int) -> np.ndarray:
    return wfdb.rdrecord(str(path.with_suffix(""))).p_signal[:, index]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("n", [3600, 3601, 3602, 3605])
def test_every_format_equals_the_library(tmp_path: Path, fmt: str, n: int) -> None:
    write_any_format(tmp_path / "r.hea", fmt, np.zeros((n, 3)))
    raw = read_wfdb_lead(tmp_path / "r.hea", ("V2",))
    np.testing.assert_allclose(raw.signal, library(tmp_path / "r.hea", 1), atol=1e-6)
    assert raw.notes == ()


def write_any_format(path: Path, fmt: str, digital: np.ndarray) -> None:
    """Write three signals of random bytes: the library cannot write all formats."""
    groups = {"212": (2, 3), "24": (1, 3), "32": (1, 4), "8": (1, 1), "80": (1, 1)}
    samples, n_bytes = (3, 4) if fmt in ("310", "311") else groups.get(fmt, (1, 2))
    data = bytearray(np.random.default_rng(1).bytes(-(-digital.size * n_bytes // samples)))
    if fmt == "311":  # the library does not ignore the two bits that the format leaves unused
        data[3::4] = bytes(byte & 0x3F for byte in data[3::4])
    path.with_suffix(".dat").write_bytes(data)
    rows = "".join(f"r.dat {fmt} 200 12 0 {{}} 0 0 V{i}\n" for i in (1, 2, 3))
    path.write_text(f"r 3 360 {len(digital)}\n" + rows.format(0, 0, 0))


def test_blocks_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preprocessing.formats.wfdb_samples._FRAMES_AT_ONCE", 12 * 7)
    for fmt in FORMATS:
        write_any_format(tmp_path / "r.hea", fmt, np.zeros((1000, 3)))
        raw = read_wfdb_lead(tmp_path / "r.hea", ("V3",))
        np.testing.assert_allclose(raw.signal, library(tmp_path / "r.hea", 2), atol=1e-6)


def test_frames_of_several_samples_are_averaged_as_the_library_does(tmp_path: Path) -> None:
    digital = np.random.default_rng(0).integers(-500, 500, size=(1000, 5)).astype("<i2")
    (tmp_path / "r.dat").write_bytes(digital.tobytes())
    (tmp_path / "r.hea").write_text("r 2 250 1000\nr.dat 16x4 200 12 0 0 0 0 II\nr.dat 16 200\n")
    raw = read_wfdb_lead(tmp_path / "r.hea")
    np.testing.assert_allclose(raw.signal, digital[:, :4].mean(axis=1) / 200, atol=1e-6)


def test_skewed_signal_is_moved_to_its_time(tmp_path: Path) -> None:
    digital = np.arange(1000, dtype="<i2")
    (tmp_path / "r.dat").write_bytes(digital.tobytes())
    (tmp_path / "r.hea").write_text("r 1 250 1000\nr.dat 16:7 200 12 0 0 0 0 II\n")
    signal = read_wfdb_lead(tmp_path / "r.hea").signal
    np.testing.assert_allclose(signal[:993], digital[7:] / 200, atol=1e-6)
    assert np.isnan(signal[993:]).all()


def test_header_without_sample_count_takes_the_files_length(tmp_path: Path) -> None:
    path = write_record(tmp_path, "r", {"II": beats(20, 360)}, fmt="16")
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([" ".join(first.split()[:3]), *rest]))
    raw = read_wfdb_lead(path)
    assert (raw.signal.size, raw.truncated, raw.notes) == (7200, False, ())


def test_header_without_rate_has_the_formats_default(tmp_path: Path) -> None:
    write_record(tmp_path, "r", {"II": beats(20, 250)}, fs=250, fmt="16")
    path = tmp_path / "r.hea"
    path.write_text("r 1\nr.dat 16 200 16 0 0 0 0 II\n")
    assert read_wfdb_lead(path).fs == 250


def test_signal_file_in_a_sub_folder_is_read(tmp_path: Path) -> None:
    path = write_record(tmp_path, "r", {"II": beats(20, 360)})
    (tmp_path / "signals").mkdir()
    (tmp_path / "r.dat").rename(tmp_path / "signals" / "r.dat")
    path.write_text(path.read_text().replace("r.dat", "signals/r.dat"))
    assert read_wfdb_lead(path).signal.size == 7200
    (found,) = Folder().find(tmp_path)
    assert "signals/r.dat" in [name for name, _ in found.files]


@pytest.mark.parametrize("name", ["/etc/passwd", "../r.dat", "a/../../r.dat"])
def test_signal_file_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    path = write_record(tmp_path / "in", "r", {"II": beats(20, 360)})
    path.write_text(path.read_text().replace("r.dat", name))
    with pytest.raises(UnreadableRecordingError, match="outside its own folder"):
        read_wfdb_lead(path)


def write_segments(folder: Path) -> Path:
    write_record(folder, "s1", {"II": beats(20, 360), "V5": beats(20, 360, seed=3)})
    write_record(folder, "s2", {"V5": beats(10, 360, seed=4), "II": beats(10, 360, seed=5)})
    write_record(folder, "s3", {"V5": beats(10, 360, seed=6)})
    path = folder / "whole.hea"
    path.write_text("whole/4 2 360 18000\ns1 7200\n~ 3600\ns2 3600\ns3 3600\n")
    return path


def test_record_of_several_segments_is_one_recording(tmp_path: Path) -> None:
    path = write_segments(tmp_path)
    raw = read_wfdb_lead(path, ECG_ALIASES, note_others=False)
    np.testing.assert_allclose(raw.signal[:7200], beats(20, 360), atol=1 / 300)
    assert np.isnan(raw.signal[7200:10800]).all()
    np.testing.assert_allclose(raw.signal[10800:14400], beats(10, 360, seed=5), atol=1 / 300)
    assert np.isnan(raw.signal[14400:]).all()
    assert raw.signal.size == 18000


def test_segments_are_not_recordings_of_their_own(tmp_path: Path) -> None:
    write_segments(tmp_path)
    (found,) = Folder().find(tmp_path)
    assert found.name == "whole.hea"
    assert {"s1.hea", "s1.dat", "s2.dat", "s3.dat"} <= {name for name, _ in found.files}


def test_date_before_the_time_is_not_read(tmp_path: Path) -> None:
    path = write_record(tmp_path, "r", {"II": beats(20, 360)})
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([f"{first} 99/10/1931 25:61:00", *rest]))
    assert read_wfdb_lead(path).signal.size == 7200
