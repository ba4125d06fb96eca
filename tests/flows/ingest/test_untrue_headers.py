"""Headers that do not tell the truth: never a window that is believed without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from flows.ingest.recording import Job, preprocess_recording
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.datasets import DATASETS
from storage.schema import RecordingRow, Status
from tests.edf_files import RECORD_COUNT, beats, patch, physical_fields, signal_field, write_edf
from tests.wfdb_files import write_record

HEADER_BYTES = slice(184, 192)


def preprocessed(root: Path, *, dataset: str = "folder") -> RecordingRow:
    """Preprocess the only recording of a folder."""
    reader = DATASETS[dataset]
    job = Job(reader, root, root.parent / "store", SignalSettings(), QualitySettings())
    (recording,) = reader.find(root)
    return preprocess_recording(job, recording)


@pytest.fixture
def edf(tmp_path: Path) -> Path:
    return write_edf(tmp_path / "in" / "a.edf", {"EEG": beats(60, seed=1), "ECG": beats(60)})


@pytest.fixture
def hea(tmp_path: Path) -> Path:
    return write_record(tmp_path / "in", "r", {"II": beats(30, 360), "V5": -beats(30, 360)})


def edit(header: Path, change: Callable[[str], str], line: int = 0) -> None:
    lines = header.read_text().splitlines()
    lines[line] = change(lines[line])
    header.write_text("\n".join(lines) + "\n")


def field(number: int, text: str) -> Callable[[str], str]:
    def change(line: str) -> str:
        fields = line.split()
        fields[number] = text
        return " ".join(fields)

    return change


@pytest.mark.parametrize("size", ["512", "1024", "766", "0", "1e9", ""])
def test_edf_whose_samples_start_elsewhere_is_quarantined(edf: Path, size: str) -> None:
    patch(edf, HEADER_BYTES, size)
    row = preprocessed(edf.parent)
    assert row.status is Status.QUARANTINED
    assert "size of the header" in (row.reason or "") or "768" in (row.reason or "")


def test_edf_with_more_records_than_announced_says_so(edf: Path) -> None:
    row = preprocessed(patch(edf, RECORD_COUNT, "10").parent)
    assert (row.status, row.n_windows) == (Status.OK, 1)
    assert row.notes == (
        "more than announced: the header announces 10 data records, the file has 60; the others "
        "are not read",
    )


@pytest.mark.parametrize("limit", ["nan", "inf", "-inf", "1e400", "1_0", "\u0661"])
def test_edf_limit_that_is_no_number_is_quarantined(edf: Path, limit: str) -> None:
    data = bytearray(edf.read_bytes())
    data[signal_field(2, 1, 128, 8)] = limit.encode("utf-8").ljust(8)
    edf.write_bytes(bytes(data))
    row = preprocessed(edf.parent)
    assert (row.status, row.reason) == (
        Status.QUARANTINED,
        "EDF header: a digital limit is not a number",
    )


@pytest.mark.parametrize("label", ["ECG  \x14", "ECG \x1b[2", "\x07ECG", "EEG \x1b[2"])
def test_no_control_character_of_a_label_is_written(edf: Path, label: str) -> None:
    patch(edf, signal_field(2, 1, 0, 16), label)
    row = preprocessed(edf.parent)
    shown = "".join([row.channel or "", row.reason or "", *row.notes])
    assert shown.isprintable()
    assert ("no ECG channel" in shown) == label.startswith("EEG")


@pytest.mark.parametrize("size", ["1e8", "1e30"])
def test_edf_of_impossible_volts_is_quarantined(edf: Path, size: str) -> None:
    low, high = physical_fields(2, 1)
    row = preprocessed(patch(patch(edf, low, f"-{size}"), high, size).parent)
    assert row.status is Status.QUARANTINED
    assert (row.reason or "").startswith("gain: one digital value is")


def test_few_impossible_samples_are_missing_ones(edf: Path) -> None:
    low, high = physical_fields(2, 1)
    row = preprocessed(patch(patch(edf, low, "-5e4"), high, "5e4").parent)
    assert any(note.startswith("amplitude: ") for note in row.notes)


def test_blank_field_of_an_unused_channel_quarantines_nothing(edf: Path) -> None:
    for start in (104, 112, 120, 128):
        patch(edf, signal_field(2, 0, start, 8), "")
    assert preprocessed(edf.parent).status is Status.OK


def test_samples_outside_the_digital_limits_are_noted(edf: Path) -> None:
    patch(edf, signal_field(2, 1, 128, 8), "100")
    notes = preprocessed(edf.parent).notes
    assert any(note.startswith("digital limits: ") for note in notes)


@pytest.mark.parametrize("rate", ["-360", "0", "1e308", "nan", "36O"])
def test_wfdb_rate_that_no_ecg_has_is_quarantined(hea: Path, rate: str) -> None:
    edit(hea, field(2, rate))
    row = preprocessed(hea.parent)
    assert row.status is Status.QUARANTINED
    assert "sampling rate" in (row.reason or "")


@pytest.mark.parametrize("length", ["1e308", "-5", "9" * 30, "1_000"])
def test_wfdb_length_that_is_no_count_is_quarantined(hea: Path, length: str) -> None:
    edit(hea, field(3, length))
    row = preprocessed(hea.parent)
    assert row.status is Status.QUARANTINED
    assert "number of samples" in (row.reason or "")


@pytest.mark.parametrize("gain", ["1e-9", "1e-300", "nan"])
def test_wfdb_gain_of_impossible_volts_is_quarantined(hea: Path, gain: str) -> None:
    edit(hea, field(2, f"{gain}(0)/mV"), line=1)
    row = preprocessed(hea.parent)
    assert row.status is Status.QUARANTINED
    assert "gain" in (row.reason or "")


def test_wfdb_gain_of_billions_is_noted(hea: Path) -> None:
    edit(hea, field(2, "1e9(0)/mV"), line=1)
    assert any("may be wrong" in note for note in preprocessed(hea.parent).notes)


def test_wfdb_format_that_is_not_the_files_is_quarantined_with_the_numbers(hea: Path) -> None:
    for line in (1, 2):
        edit(hea, field(1, "16"), line=line)
    row = preprocessed(hea.parent)
    assert row.status is Status.QUARANTINED
    assert row.reason == (
        "signal format: the header says 16, but the file has the size of 10,800 samples of "
        "format 212"
    )


def test_file_that_is_shorter_and_begins_otherwise_is_quarantined(hea: Path) -> None:
    dat = hea.with_suffix(".dat")
    dat.write_bytes(dat.read_bytes()[: 3 * 360 * 25])
    edit(hea, field(5, "1999"), line=1)
    row = preprocessed(hea.parent)
    assert row.status is Status.QUARANTINED
    assert "initial value: the header says 1999" in (row.reason or "")


def test_disagreeing_checksum_alone_is_noted(hea: Path) -> None:
    actual = int(np.int64(hea.read_text().splitlines()[1].split()[6]).astype(np.int16))
    edit(hea, field(6, str(actual + 1)), line=1)
    row = preprocessed(hea.parent)
    assert row.status is Status.OK
    assert row.notes[-1] == (f"checksum: the header says {actual + 1}, the samples give {actual}")


def test_disagreeing_initial_value_alone_is_noted(hea: Path) -> None:
    edit(hea, field(5, "1999"), line=1)
    row = preprocessed(hea.parent)
    assert row.status is Status.OK
    assert row.notes[-1].startswith("initial value: the header says 1999, the first sample is")


def test_checksum_of_zero_means_that_none_is_set(hea: Path) -> None:
    for line in (1, 2):
        edit(hea, field(5, "0"), line=line)
        edit(hea, field(6, "0"), line=line)
    assert all("header says" not in note for note in preprocessed(hea.parent).notes)


@pytest.mark.parametrize("rate", ["-300", "0", "nan", "1e9"])
def test_mat_rate_that_no_ecg_has_is_quarantined(tmp_path: Path, rate: str) -> None:
    write_mat(tmp_path / "in", rate=rate)
    row = preprocessed(tmp_path / "in", dataset="challenge2017")
    assert row.status is Status.QUARANTINED
    assert "sampling rate" in (row.reason or "")


def test_mat_gain_of_impossible_volts_is_quarantined(tmp_path: Path) -> None:
    write_mat(tmp_path / "in", gain="1e-9")
    row = preprocessed(tmp_path / "in", dataset="challenge2017")
    assert (row.reason or "").startswith("gain: one digital value is")


def write_mat(folder: Path, *, rate: str = "300", gain: str = "1000") -> None:
    folder.mkdir(parents=True)
    samples = np.rint(beats(30, 300) * 1000).astype(np.int16)[None]
    savemat(folder / "A1.mat", {"val": samples}, format="4")
    text = f"A1 1 {rate} {samples.size}\nA1.mat 16+24 {gain}/mV 16 0 {samples[0, 0]} 0 0 ECG\n"
    (folder / "A1.hea").write_text(text)
