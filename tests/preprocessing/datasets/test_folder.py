"""A user's own folder: formats, subjects.csv and odd names."""

from __future__ import annotations

from pathlib import Path

import mne
import numpy as np
import pytest

from preprocessing.channels import ECG_ALIASES
from preprocessing.datasets import DATASETS
from preprocessing.recording import RawRecording, UnreadableRecordingError
from storage.schema import Sex
from tests.edf_files import beats, write_edf
from tests.wfdb_files import write_record

FOLDER = DATASETS["folder"]


def read_only_file(root: Path) -> RawRecording:
    (recording,) = FOLDER.find(root)
    return FOLDER.read(root, recording, ECG_ALIASES)


def mne_raw(seconds: float = 30, fs: float = 250) -> mne.io.RawArray:
    info = mne.create_info(["EEG", "ECG"], fs, ["eeg", "ecg"])
    data = np.stack([beats(seconds, fs, seed=1), beats(seconds, fs)]) * 1e-3
    return mne.io.RawArray(data, info, verbose="ERROR")


def test_table_gives_subject_visit_sex_and_age(tmp_path: Path) -> None:
    write_edf(tmp_path / "night 1.edf", {"ECG": beats(12)})
    write_edf(tmp_path / "sub" / "x.edf", {"ECG": beats(12)})
    table = "file,subject,visit,sex,age\nnight 1.edf,anna,2,F,44\n"
    (tmp_path / "subjects.csv").write_text(table)
    found = {r.name: (r.subject, r.visit) for r in FOLDER.find(tmp_path)}
    assert found == {"night 1.edf": ("anna", 2), "sub/x.edf": ("sub/x", 1)}
    facts = FOLDER.tables(tmp_path).facts["night 1.edf"]
    assert (facts.sex, facts.age) == (Sex.FEMALE, 44)


def test_folder_without_table_is_read_with_a_warning(tmp_path: Path) -> None:
    write_edf(tmp_path / "a.edf", {"EKG": beats(12)})
    assert read_only_file(tmp_path).channel == "EKG"
    assert "no subjects.csv" in FOLDER.tables(tmp_path).warnings[0]


def test_fif(tmp_path: Path) -> None:
    mne_raw().save(tmp_path / "a_raw.fif", verbose="ERROR")
    np.testing.assert_allclose(read_only_file(tmp_path).signal, beats(30, 250), atol=1e-5)


def test_brainvision(tmp_path: Path) -> None:
    write_brainvision(tmp_path, "a", beats(30, 250))
    raw = read_only_file(tmp_path)
    assert raw.fs == 250
    np.testing.assert_allclose(raw.signal, beats(30, 250), atol=1e-3)


def test_bdf(tmp_path: Path) -> None:
    write_bdf(tmp_path / "a.bdf", beats(30, 256))
    raw = read_only_file(tmp_path)
    assert raw.fs == 256
    np.testing.assert_allclose(raw.signal, beats(30, 256), atol=1e-3)


def test_gdf(tmp_path: Path) -> None:
    write_gdf(tmp_path / "a.gdf", beats(30, 256))
    raw = read_only_file(tmp_path)
    assert raw.fs == 256
    np.testing.assert_allclose(raw.signal, beats(30, 256), atol=1e-3)


def test_wfdb_with_rhythms(tmp_path: Path) -> None:
    write_record(tmp_path, "r1", {"II": beats(30, 360)}, rhythms={0: "N"})
    raw = read_only_file(tmp_path)
    assert (raw.channel, raw.rhythms[0].rhythm) == ("II", "N")


@pytest.mark.parametrize("suffix", [".bdf", ".gdf", ".vhdr", ".fif"])
def test_garbage_is_refused_in_every_format(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a_raw{suffix}").write_bytes(b"garbage " * 100)
    with pytest.raises(UnreadableRecordingError):
        read_only_file(tmp_path)


def write_brainvision(folder: Path, name: str, millivolts: np.ndarray) -> None:
    header = f"""Brain Vision Data Exchange Header File Version 1.0

[Common Infos]
Codepage=UTF-8
DataFile={name}.eeg
MarkerFile={name}.vmrk
DataFormat=BINARY
DataOrientation=MULTIPLEXED
NumberOfChannels=1
SamplingInterval=4000

[Binary Infos]
BinaryFormat=IEEE_FLOAT_32

[Channel Infos]
Ch1=ECG,,1,µV
"""
    markers = f"""Brain Vision Data Exchange Marker File, Version 1.0

[Common Infos]
Codepage=UTF-8
DataFile={name}.eeg

[Marker Infos]
Mk1=New Segment,,1,1,0,20200101000000000000
"""
    (folder / f"{name}.vhdr").write_text(header, encoding="utf-8")
    (folder / f"{name}.vmrk").write_text(markers, encoding="utf-8")
    (folder / f"{name}.eeg").write_bytes((millivolts * 1e3).astype("<f4").tobytes())


def write_bdf(path: Path, millivolts: np.ndarray) -> None:
    """Write a BDF of one channel: EDF's header with another magic, and 24-bit samples."""
    values = ["ECG", "", "uV", "-8000", "8000", "-8388608", "8388607", "", "256", ""]
    widths = [16, 80, 8, 8, 8, 8, 8, 80, 8, 32]
    fields = [value.ljust(width) for value, width in zip(values, widths, strict=True)]
    start = b"\xffBIOSEMI" + b"X X X X".ljust(80) + b"Startdate".ljust(80) + b"01.01.2000.00.00"
    start += b"512".ljust(8) + b"24BIT".ljust(44) + str(millivolts.size // 256).encode().ljust(8)
    start += b"1".ljust(8) + b"1".ljust(4)
    digital = np.rint(millivolts * 1e3 / 16000 * 2**24).astype("<i4")
    samples = digital.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    path.write_bytes(start + "".join(fields).encode() + samples)


def write_gdf(path: Path, millivolts: np.ndarray) -> None:
    """Write a GDF 1.25 of one float32 channel in records of one second."""
    n_records = millivolts.size // 256
    fixed = b"GDF 1.25" + b"X".ljust(80) + b"X".ljust(80) + b"2000010100000000"
    fixed += np.int64(512).tobytes() + bytes(8) + bytes(8) + bytes(8) + bytes(20)
    fixed += np.int64(n_records).tobytes() + np.array([1, 1], "<u4").tobytes()
    fixed += np.uint32(1).tobytes()
    channel = b"ECG".ljust(16) + b"".ljust(80) + b"uV".ljust(8)
    channel += np.array([-8000.0, 8000.0], "<f8").tobytes()
    channel += np.array([-8000, 8000], "<i8").tobytes() + bytes(80)
    channel += np.uint32(256).tobytes() + np.uint32(16).tobytes() + bytes(32)
    no_events = bytes([1, 0, 1, 0]) + np.uint32(0).tobytes()
    path.write_bytes(fixed + channel + (millivolts * 1e3).astype("<f4").tobytes() + no_events)
