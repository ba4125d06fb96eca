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
from preprocessing.user_folder.files import opened_file
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
    monkeypatch.setattr("preprocessing.formats.wfdb_record._FRAMES_AT_ONCE", 12 * 7)
    for fmt in FORMATS:
        write_any_format(tmp_path / "r.hea", fmt, np.zeros((1000, 3)))
        raw = read_wfdb_lead(tmp_path / "r.hea", ("V3",))
        np.testing.assert_allclose(raw.signal, library(tmp_path / "r.hea", 2), atol=1e-6)


def test_all_samples_of_a_frame_are_read(tmp_path: Path) -> None:
    """A lead of 250 Hz in frames of 62.5 Hz is a lead of 250 Hz."""
    digital = np.random.default_rng(0).integers(-500, 500, size=(1000, 5)).astype("<i2")
    (tmp_path / "r.dat").write_bytes(digital.tobytes())
    (tmp_path / "r.hea").write_text("r 2 62.5 1000\nr.dat 16x4 200 12 0 0 0 0 II\nr.dat 16 200\n")
    raw = read_wfdb_lead(tmp_path / "r.hea")
    np.testing.assert_allclose(raw.signal, digital[:, :4].reshape(-1) / 200, atol=1e-6)
    assert raw.fs == 250


def test_skew_counts_frames(tmp_path: Path) -> None:
    digital = np.arange(100 * 4, dtype="<i2").reshape(100, 4)
    (tmp_path / "r.dat").write_bytes(digital.tobytes())
    (tmp_path / "r.hea").write_text("r 1 62.5 100\nr.dat 16x4:3 200 12 0 0 0 0 II\n")
    signal = read_wfdb_lead(tmp_path / "r.hea").signal
    np.testing.assert_allclose(signal[:-12], digital.reshape(-1)[12:] / 200, atol=1e-6)
    assert np.isnan(signal[-12:]).all()


def test_compressed_frames_of_several_samples_are_read_whole(tmp_path: Path) -> None:
    lead = np.random.default_rng(0).integers(-500, 500, size=4000)
    wfdb.wrsamp(
        "r", fs=62.5, units=["mV", "mV"], sig_name=["II", "V"], samps_per_frame=[4, 1],
        e_d_signal=[lead, np.arange(1000)], fmt=["516", "516"], adc_gain=[200.0, 200.0],
        baseline=[0, 0], write_dir=str(tmp_path),
    )  # fmt: skip
    raw = read_wfdb_lead(tmp_path / "r.hea")
    np.testing.assert_allclose(raw.signal, lead / 200, atol=1e-6)
    assert raw.fs == 250


def test_segments_keep_their_times_with_several_samples_a_frame(tmp_path: Path) -> None:
    digital = np.arange(4 * 20, dtype="<i2")
    for name, part in (("s1", digital[:40]), ("s2", digital[40:])):
        (tmp_path / f"{name}.dat").write_bytes(part.tobytes())
        line = f"{name}.dat 16x4 200 12 0 0 0 0 II"
        (tmp_path / f"{name}.hea").write_text(f"{name} 1 62.5 10\n{line}\n")
    (tmp_path / "r.hea").write_text("r/3 1 62.5 25\ns1 10\n~ 5\ns2 10\n")
    raw = read_wfdb_lead(tmp_path / "r.hea")
    expected = np.concatenate([digital[:40] / 200, np.full(20, np.nan), digital[40:] / 200])
    np.testing.assert_allclose(raw.signal, expected, atol=1e-6)
    assert raw.fs == 250


@pytest.mark.parametrize(("fmt", "group", "n_bytes"), [("212", 2, 3), ("310", 3, 4), ("311", 3, 4)])
def test_a_padded_last_group_is_nothing_to_note(
    tmp_path: Path, fmt: str, group: int, n_bytes: int
) -> None:
    n = group * 500 + 1
    (tmp_path / "r.dat").write_bytes(bytes(n_bytes * 501))
    (tmp_path / "r.hea").write_text(f"r 1 100 {n}\nr.dat {fmt} 200 12 0 0 0 0 II\n")
    raw = read_wfdb_lead(tmp_path / "r.hea")
    assert raw.signal.size == n
    assert raw.notes == ()
    (tmp_path / "r.dat").write_bytes(bytes(n_bytes * 502))
    (note,) = read_wfdb_lead(tmp_path / "r.hea").notes
    assert note.startswith("more than announced")


@pytest.mark.parametrize("gain", ["", "0", "0(5)/mV"])
def test_a_lead_without_a_gain_is_noted(tmp_path: Path, gain: str) -> None:
    (tmp_path / "r.dat").write_bytes(np.arange(1000, dtype="<i2").tobytes())
    (tmp_path / "r.hea").write_text(f"r 1 100 1000\nr.dat 16 {gain}\n")
    raw = read_wfdb_lead(tmp_path / "r.hea", ("",))
    assert raw.notes == ("not calibrated: 200 values per mV are assumed",)


def test_names_in_capitals_are_found(tmp_path: Path) -> None:
    write_record(tmp_path, "rec", {"II": beats(30, 360)}, rhythms={0: "N"})
    for path in list(tmp_path.iterdir()):
        path.rename(path.with_name(path.name.upper()))
    (found,) = Folder().find(tmp_path)
    assert [path for path, _ in found.files] == ["REC.HEA", "REC.DAT", "REC.ATR"]
    raw = Folder().read(tmp_path, found, ECG_ALIASES)
    assert raw.signal.size == 30 * 360
    assert raw.rhythms[0].rhythm == "N"


def test_a_renamed_pair_says_what_to_change(tmp_path: Path) -> None:
    write_record(tmp_path, "old", {"II": beats(30, 360)})
    for path in list(tmp_path.iterdir()):
        path.rename(path.with_stem("new"))
    with pytest.raises(UnreadableRecordingError, match=r"new\.dat is there: were both renamed\?"):
        read_wfdb_lead(tmp_path / "new.hea")


def test_a_signal_file_is_opened_by_the_header_that_names_it(tmp_path: Path) -> None:
    write_record(tmp_path, "old", {"II": beats(30, 360)})
    (tmp_path / "old.hea").rename(tmp_path / "new.hea")
    assert opened_file(tmp_path / "old.dat") == tmp_path / "new.hea"


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
