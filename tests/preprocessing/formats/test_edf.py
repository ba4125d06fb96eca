"""EDF reading: the header is believed only as far as the file bears it out."""

from __future__ import annotations

from pathlib import Path

import mne
import numpy as np
import pytest

from preprocessing.formats.edf import parse_edf_header, read_edf_lead, spread_records
from preprocessing.recording import UnreadableRecordingError
from tests.edf_files import (
    MAGIC,
    RECORD_COUNT,
    START_DATE,
    START_TIME,
    beats,
    patch,
    physical_fields,
    write_edf,
)


@pytest.fixture
def edf(tmp_path: Path) -> Path:
    return write_edf(tmp_path / "a.edf", {"EEG": beats(60, seed=1), "ECG": beats(60)})


def test_lead_equals_what_was_written(edf: Path) -> None:
    raw = read_edf_lead(edf)
    assert (raw.channel, raw.fs, raw.truncated) == ("ECG", 125, False)
    np.testing.assert_allclose(raw.signal, beats(60), atol=10 / 65535)


def test_lead_equals_what_mne_reads(edf: Path) -> None:
    volts = mne.io.read_raw_edf(edf, include=["ECG"], verbose="ERROR").get_data()[0]
    np.testing.assert_allclose(read_edf_lead(edf).signal, volts * 1e3, atol=1e-6)


def test_microvolts_become_millivolts(tmp_path: Path) -> None:
    path = write_edf(
        tmp_path / "u.edf", {"ECG": 1e3 * beats(20)}, unit="uV", physical_range=(-5e3, 5e3)
    )
    np.testing.assert_allclose(read_edf_lead(path).signal, beats(20), atol=1e-3)


@pytest.mark.parametrize("unit", ["furlong", "mV \xa0"])
def test_unknown_unit_is_read_as_millivolts_and_noted(tmp_path: Path, unit: str) -> None:
    path = write_edf(tmp_path / "x.edf", {"ECG": beats(20)}, unit="furlong")
    path.write_bytes(path.read_bytes().replace(b"furlong ", unit.encode("latin-1").ljust(8)))
    assert read_edf_lead(path).notes == ("unknown unit read as mV",)


def test_truncated_file_keeps_whole_records(edf: Path) -> None:
    data = edf.read_bytes()
    edf.write_bytes(data[: len(data) - 3 * 500 - 77])
    raw = read_edf_lead(edf)
    assert raw.truncated
    assert raw.signal.size == 56 * 125


def test_trailing_garbage_is_not_read(edf: Path) -> None:
    edf.write_bytes(edf.read_bytes() + b"z" * 1700)
    raw = read_edf_lead(edf)
    assert (raw.signal.size, raw.truncated) == (60 * 125, False)


def test_record_count_of_minus_one_comes_from_the_size(edf: Path) -> None:
    raw = read_edf_lead(patch(edf, RECORD_COUNT, "-1"))
    assert (raw.signal.size, raw.truncated) == (60 * 125, False)


def test_start_date_is_ignored(edf: Path) -> None:
    assert read_edf_lead(patch(edf, START_DATE, "00.00.00")).signal.size == 60 * 125


@pytest.mark.parametrize(
    ("text", "clock_s"),
    [("22.30.05", 81_005.0), ("00.00.00", None), ("99.99.99", None), ("X X", None)],
)
def test_the_time_of_day_is_read_unless_it_is_none(
    edf: Path, text: str, clock_s: float | None
) -> None:
    assert read_edf_lead(patch(edf, START_TIME, text)).clock_s == clock_s


def test_wrong_magic_is_refused(edf: Path) -> None:
    with pytest.raises(UnreadableRecordingError, match="not an EDF file"):
        read_edf_lead(patch(edf, MAGIC, "RIFFWAVE"))


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.edf").touch()
    with pytest.raises(UnreadableRecordingError, match="zero length"):
        read_edf_lead(tmp_path / "empty.edf")


def test_file_without_data_records_is_refused(edf: Path) -> None:
    edf.write_bytes(edf.read_bytes()[: 256 * 3])
    with pytest.raises(UnreadableRecordingError, match="zero length"):
        read_edf_lead(edf)


def test_equal_physical_limits_are_refused(edf: Path) -> None:
    for field in physical_fields(2, 1):
        patch(edf, field, "1")
    with pytest.raises(UnreadableRecordingError, match="physical minimum = maximum"):
        read_edf_lead(edf)


def test_missing_ecg_lists_what_is_there(tmp_path: Path) -> None:
    path = write_edf(tmp_path / "n.edf", {"EEG": beats(20), "SaO2": beats(20)})
    with pytest.raises(UnreadableRecordingError, match="no ECG channel: channels are EEG, SaO2"):
        read_edf_lead(path)


def test_first_alias_wins_among_two_ecg_channels(tmp_path: Path) -> None:
    path = write_edf(tmp_path / "t.edf", {"EKG": beats(20, seed=1), "ECG": beats(20, seed=2)})
    raw = read_edf_lead(path)
    assert raw.channel == "ECG"
    assert raw.notes == ("2 ECG channels (EKG, ECG); read ECG",)


@pytest.mark.parametrize("length", [0, 7, 255, 256, 300, 767])
def test_any_cut_through_the_header_is_refused(edf: Path, length: int) -> None:
    edf.write_bytes(edf.read_bytes()[:length])
    with pytest.raises(UnreadableRecordingError):
        read_edf_lead(edf)


def test_header_never_holds_identity_fields(edf: Path) -> None:
    data = bytearray(edf.read_bytes())
    data[8:88] = b"Secret Name".ljust(80)
    assert "Secret" not in repr(parse_edf_header(bytes(data)))


def test_discontinuous_records_are_spread_with_gaps() -> None:
    signal = np.arange(6, dtype=np.float32)
    spread = spread_records(signal, np.array([100.0, 101.0, 105.0]), fs=2)
    np.testing.assert_array_equal(spread[:4], [0, 1, 2, 3])
    assert np.isnan(spread[4:10]).all()
    np.testing.assert_array_equal(spread[10:], [4, 5])


def test_records_that_go_back_in_time_are_refused() -> None:
    with pytest.raises(UnreadableRecordingError, match="back in time"):
        spread_records(np.zeros(4, np.float32), np.array([5.0, 1.0]), fs=2)


def test_discontinuous_file_has_nan_in_its_gap(tmp_path: Path) -> None:
    path = write_discontinuous(tmp_path / "d.edf", gap_after=10, gap_s=25)
    raw = read_edf_lead(path)
    assert raw.signal.size == (20 + 25) * 125
    assert np.isnan(raw.signal[10 * 125 : 35 * 125]).all()
    assert np.isfinite(np.delete(raw.signal, np.s_[10 * 125 : 35 * 125])).all()


def write_discontinuous(path: Path, *, gap_after: int, gap_s: int) -> Path:
    """Write an EDF+ of 20 records of 1 s and move the later ones by ``gap_s``."""
    import edfio

    ecg = edfio.EdfSignal(
        beats(20), 125, label="ECG", physical_dimension="mV", physical_range=(-5, 5)
    )
    edf = edfio.Edf(
        [ecg], annotations=[edfio.EdfAnnotation(0, None, "start")], data_record_duration=1
    )
    edf.write(path)
    data = bytearray(path.read_bytes())
    data[192:197] = b"EDF+D"
    for second in range(gap_after, 20):
        old, new = f"+{second}\x14\x14".encode(), f"+{second + gap_s}\x14\x14".encode()
        start = data.index(old, 256)
        data[start : start + len(new)] = new
    path.write_bytes(bytes(data))
    return path
