"""MIT-ARR, MIT-AFIB, PAF Prediction and ECG-ID, from files in their own layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.datasets import DATASETS
from preprocessing.recording import RawRecording, UnreadableRecordingError
from storage.schema import Sex
from tests.edf_files import beats
from tests.wfdb_files import write_record


def read(dataset: str, root: Path, name: str) -> RawRecording:
    found = {recording.name: recording for recording in DATASETS[dataset].find(root)}
    return DATASETS[dataset].read(root, found[name], ())


def two_leads(seconds: float, fs: float, first: str, second: str) -> dict[str, np.ndarray]:
    return {first: beats(seconds, fs, seed=1), second: -beats(seconds, fs, seed=2)}


def test_lead_is_chosen_by_name_not_by_position(tmp_path: Path) -> None:
    write_record(tmp_path, "114", two_leads(20, 360, "V5", "MLII"))
    raw = read("mitdb", tmp_path, "114")
    assert raw.channel == "MLII"
    np.testing.assert_allclose(raw.signal, -beats(20, 360, seed=2), atol=1 / 200)


def test_record_without_mlii_uses_v5(tmp_path: Path) -> None:
    write_record(tmp_path, "102", two_leads(20, 360, "V5", "V2"))
    raw = read("mitdb", tmp_path, "102")
    assert (raw.channel, raw.notes) == ("V5", ("no annotation file",))


def test_age_and_sex_come_from_the_first_comment(tmp_path: Path) -> None:
    write_record(tmp_path, "201", two_leads(20, 360, "MLII", "V1"), comments=["68 M 1960 2851 x1"])
    raw = read("mitdb", tmp_path, "201")
    assert (raw.age, raw.sex) == (68, Sex.MALE)


def test_201_and_202_are_one_subject(tmp_path: Path) -> None:
    for name in ("201", "202", "203"):
        write_record(tmp_path, name, two_leads(11, 360, "MLII", "V1"))
    subjects = {r.name: (r.subject, r.visit) for r in DATASETS["mitdb"].find(tmp_path)}
    assert subjects == {"201": ("201", 1), "202": ("201", 2), "203": ("203", 1)}


def test_rhythms_are_read_without_bracket_and_nul(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(40, 360, "MLII", "V1"), rhythms={36: "AFIB", 7200: "N"})
    rhythms = read("mitdb", tmp_path, "203").rhythms
    assert [(r.start_s, r.rhythm) for r in rhythms] == [(0.1, "AFIB"), (20.0, "N")]


def test_unknown_rhythm_is_left_out_and_counted(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(40, 360, "MLII", "V1"), rhythms={0: "N", 3600: "WHAT"})
    raw = read("mitdb", tmp_path, "203")
    assert [r.rhythm for r in raw.rhythms] == ["N", None]
    assert raw.notes == ("unknown rhythm 'WHAT', 1 times: label left out",)


def test_short_dat_is_read_and_flagged(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(40, 360, "MLII", "V1"))
    dat = tmp_path / "203.dat"
    dat.write_bytes(dat.read_bytes()[: 3 * 360 * 25])
    raw = read("mitdb", tmp_path, "203")
    assert raw.truncated
    assert raw.signal.size == 360 * 25


def test_header_without_dat_is_refused(tmp_path: Path) -> None:
    write_record(tmp_path, "04015", two_leads(20, 250, "ECG1", "ECG2"), fs=250)
    (tmp_path / "04015.dat").unlink()
    with pytest.raises(UnreadableRecordingError, match="header without its signal file"):
        read("afdb", tmp_path, "04015")


def test_header_without_signals_is_refused(tmp_path: Path) -> None:
    (tmp_path / "00735.hea").write_text("00735 0 250 0\n")
    with pytest.raises(UnreadableRecordingError, match="header without its signal file"):
        read("afdb", tmp_path, "00735")


def test_empty_dat_is_refused(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(20, 360, "MLII", "V1"))
    (tmp_path / "203.dat").write_bytes(b"")
    with pytest.raises(UnreadableRecordingError, match="zero length"):
        read("mitdb", tmp_path, "203")


def test_broken_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "999.hea").write_bytes(b"\x00\xff garbage\n\n")
    with pytest.raises(UnreadableRecordingError):
        read("mitdb", tmp_path, "999")


def test_gain_of_zero_means_the_default(tmp_path: Path) -> None:
    header = write_record(tmp_path, "04015", two_leads(20, 250, "ECG1", "ECG2"), fs=250)
    header.write_text(header.read_text().replace("200.0(0)/mV", "0").replace("200(0)/mV", "0"))
    np.testing.assert_allclose(
        read("afdb", tmp_path, "04015").signal, beats(20, 250, seed=1), atol=1 / 200
    )


def test_invalid_samples_become_nan(tmp_path: Path) -> None:
    leads = two_leads(20, 128, "ECG0", "ECG1")
    leads["ECG0"][100:150] = np.nan
    write_record(tmp_path, "n01", leads, fs=128, fmt="16")
    signal = read("afpdb", tmp_path, "n01").signal
    assert np.flatnonzero(np.isnan(signal)).tolist() == list(range(100, 150))


def test_consecutive_paf_records_are_two_visits_of_one_subject(tmp_path: Path) -> None:
    for name in ("n01", "n02", "p03", "p04", "p04c"):
        write_record(tmp_path, name, two_leads(11, 128, "ECG0", "ECG1"), fs=128, fmt="16")
    found = {r.name: (r.subject, r.visit) for r in DATASETS["afpdb"].find(tmp_path)}
    assert found == {"n01": ("n01", 1), "n02": ("n01", 2), "p03": ("p02", 1), "p04": ("p02", 2)}


def test_ecg_id_reads_the_raw_signal_with_age_and_sex(tmp_path: Path) -> None:
    write_record(
        tmp_path / "Person_07",
        "rec_12",
        two_leads(20, 500, "ECG I", "ECG I filtered"),
        fs=500,
        fmt="16",
        comments=["Age: 25", "Sex: female", "ECG date: 07.12.2004"],
    )
    raw = read("ecgiddb", tmp_path, "Person_07-rec_12")
    assert (raw.channel, raw.age, raw.sex) == ("ECG I", 25, Sex.FEMALE)
    recording = next(iter(DATASETS["ecgiddb"].find(tmp_path)))
    assert (recording.subject, recording.visit) == ("Person_07", 12)


@pytest.mark.real
@pytest.mark.parametrize(
    ("dataset", "folder", "name", "channel"),
    [
        ("mitdb", "mitdb", "114", 1),
        ("mitdb", "mitdb", "201", 0),
        ("afpdb", "afpdb", "p10", 0),
        ("ecgiddb", "ecgiddb", "Person_02-rec_10", 0),
    ],
)
def test_real_lead_equals_what_wfdb_reads(
    real_data: Callable[[str], Path], dataset: str, folder: str, name: str, channel: int
) -> None:
    root = real_data(folder)
    raw = read(dataset, root, name)
    stem = str(root / name).replace("Person_02-", "Person_02/")
    expected = wfdb.rdrecord(stem, channels=[channel]).p_signal[:, 0]
    np.testing.assert_allclose(raw.signal, expected, atol=1e-4)


@pytest.mark.real
def test_real_mit_arr_has_eight_records_with_atrial_fibrillation(
    real_data: Callable[[str], Path],
) -> None:
    root = real_data("mitdb")
    with_afib = [
        r.name
        for r in DATASETS["mitdb"].find(root)
        if any(c.rhythm == "AFIB" for c in DATASETS["mitdb"].read(root, r, ()).rhythms)
    ]
    assert with_afib == ["201", "202", "203", "210", "217", "219", "221", "222"]
