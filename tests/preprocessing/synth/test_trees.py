"""Every synthetic data set reads back as the real one does."""

from __future__ import annotations

import csv
from pathlib import Path

import edfio
import numpy as np
import pytest
import wfdb
from scipy import io

from preprocessing.config import SynthSettings
from preprocessing.datasets import DATASETS as READERS
from preprocessing.synth import DATASETS, write_cohort

SETTINGS = SynthSettings(
    shhs_subjects=5,
    shhs_hours=0.02,
    mitdb_records=10,
    mitdb_minutes=0.6,
    afdb_records=2,
    afdb_hours=0.02,
    challenge2017_records=20,
    afpdb_subjects=2,
    ecgiddb_people=3,
    cpsc2021_people=1,
    cpsc2021_minutes=0.5,
)


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_cohort(tmp_path_factory.mktemp("cohort"), SETTINGS)


def read_table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="windows-1252").splitlines()))


def test_the_cohort_names_every_data_set(roots: dict[str, Path]) -> None:
    assert set(roots) == set(READERS) - {"folder", "slpdb"}


def test_a_data_set_without_records_is_left_out(tmp_path: Path) -> None:
    nothing = {name: 0 for name in SynthSettings.model_fields if name.endswith(("ts", "ds"))}
    settings = SynthSettings(**{**nothing, "ecgiddb_people": 1})  # type: ignore[arg-type]
    assert write_cohort(tmp_path, settings) == {"ecgiddb": tmp_path / "ecgiddb"}


def test_a_night_has_the_sixteen_channels_in_order(roots: dict[str, Path]) -> None:
    edf = edfio.read_edf(roots["shhs"] / "polysomnography/edfs/shhs1/shhs1-200001.edf")
    assert edf.labels == (
        "SaO2", "H.R.", "EEG(sec)", "ECG", "EMG", "EOG(L)", "EOG(R)", "EEG", "SOUND", "AIRFLOW",
        "THOR RES", "ABDO RES", "POSITION", "LIGHT", "NEW AIR", "OX stat",
    )  # fmt: skip
    assert edf.data_record_duration == 1.0


def test_the_ecg_of_a_night_is_in_mv_at_its_visits_rate(roots: dict[str, Path]) -> None:
    folder = roots["shhs"] / "polysomnography/edfs"
    first = edfio.read_edf(folder / "shhs1/shhs1-200001.edf").get_signal("ECG")
    second = edfio.read_edf(folder / "shhs2/shhs2-200001.edf").get_signal("ECG")
    third = edfio.read_edf(folder / "shhs2/shhs2-200003.edf").get_signal("ECG")
    assert [s.sampling_frequency for s in (first, second, third)] == [125, 250, 256]
    assert (first.physical_dimension, *first.physical_range) == ("mV", -1.25, 1.25)


def test_no_channel_of_a_night_is_all_zero(roots: dict[str, Path]) -> None:
    edf = edfio.read_edf(roots["shhs"] / "polysomnography/edfs/shhs2/shhs2-200002.edf")
    lively = [s.label for s in edf.signals if s.digital.std() > 0]
    assert set(edf.labels) - set(lively) <= {"POSITION", "LIGHT", "OX stat"}


def test_a_night_names_nobody_and_no_day(roots: dict[str, Path]) -> None:
    path = roots["shhs"] / "polysomnography/edfs/shhs1/shhs1-200001.edf"
    head = path.read_bytes()[8:176].decode("ascii")
    assert head[:80].strip() == "X X X X"
    assert head[80:160].strip() == "Startdate X X X X"
    assert head[160:168] == "01.01.85"


def test_the_second_table_lists_more_than_there_are_files(roots: dict[str, Path]) -> None:
    rows = read_table(roots["shhs"] / "datasets/shhs2-dataset-0.20.0.csv")
    files = list((roots["shhs"] / "polysomnography/edfs/shhs2").glob("*.edf"))
    assert len(rows) > len(files)
    assert set(rows[0]) >= {"nsrrid", "gender", "age_s2", "quhr"}


def test_the_first_table_is_windows_1252_not_utf_8(roots: dict[str, Path]) -> None:
    path = roots["shhs"] / "datasets/shhs1-dataset-0.20.0.csv"
    assert {"nsrrid", "gender", "age_s1", "hrqual"} <= set(read_table(path)[0])
    with pytest.raises(UnicodeDecodeError):
        path.read_text(encoding="utf-8")


def test_some_subject_has_no_gender(tmp_path: Path) -> None:
    DATASETS["shhs"].write_tables(tmp_path, SynthSettings(shhs_subjects=12))
    rows = read_table(tmp_path / "datasets/shhs1-dataset-0.20.0.csv")
    assert {row["gender"] for row in rows} == {"1", "2", ""}


def test_the_harmonised_table_has_a_row_for_each_visit(roots: dict[str, Path]) -> None:
    rows = read_table(roots["shhs"] / "datasets/shhs-harmonized-dataset-0.20.0.csv")
    assert {row["visitnumber"] for row in rows} == {"1", "2"}
    assert {row["nsrr_sex"] for row in rows} <= {"male", "female", "not reported"}


def test_mitdb_leads_are_odd_where_the_real_ones_are(roots: dict[str, Path]) -> None:
    names = {n: wfdb.rdheader(str(roots["mitdb"] / n)).sig_name for n in ("201", "114", "102")}
    assert names == {"201": ["MLII", "V1"], "114": ["V5", "MLII"], "102": ["V5", "V2"]}


def test_a_mitdb_record_is_two_leads_at_360_hz(roots: dict[str, Path]) -> None:
    read = wfdb.rdrecord(str(roots["mitdb"] / "203"))
    assert (read.fs, read.fmt, read.units) == (360, ["212", "212"], ["mV", "mV"])
    assert read.p_signal.shape == (360 * 36, 2)
    assert 0.3 < np.ptp(read.p_signal[:, 0]) < 12


def test_a_mitdb_header_gives_age_and_sex(roots: dict[str, Path]) -> None:
    age, sex, *tape = wfdb.rdheader(str(roots["mitdb"] / "201")).comments[0].split()
    assert sex in ("M", "F")
    assert 18 <= int(age) <= 95
    assert tape[-1] in ("x1", "x2")


@pytest.mark.parametrize("name", ["201", "202", "203", "210", "217", "219", "221", "222"])
def test_each_afib_record_holds_afib_and_sinus(roots: dict[str, Path], name: str) -> None:
    notes = wfdb.rdann(str(roots["mitdb"] / name), "atr")
    assert {"(AFIB\0", "(N\0"} <= set(notes.aux_note)


def test_mitdb_beats_lie_on_the_r_peaks(roots: dict[str, Path]) -> None:
    notes = wfdb.rdann(str(roots["mitdb"] / "202"), "atr")
    lead = wfdb.rdrecord(str(roots["mitdb"] / "202")).p_signal[:, 0]
    marks = notes.sample[[symbol == "N" for symbol in notes.symbol]]
    around = [lead[x - 25 : x + 25] for x in marks if 25 < x < len(lead) - 25]
    peaks = np.array([np.abs(cut - np.median(cut)).argmax() - 25 for cut in around])
    assert np.mean(np.abs(peaks) <= 5) > 0.95


def test_an_afdb_header_has_gain_0_which_reads_as_200(roots: dict[str, Path]) -> None:
    assert ".dat 212 0 12 0 " in (roots["afdb"] / "04043.hea").read_text()
    read = wfdb.rdrecord(str(roots["afdb"] / "04043"))
    assert (read.fs, read.sig_name, read.adc_gain) == (250, ["ECG1", "ECG2"], [200.0, 200.0])


def test_afdb_notes_are_rhythms_only(roots: dict[str, Path]) -> None:
    notes = wfdb.rdann(str(roots["afdb"] / "05121"), "atr")
    assert set(notes.symbol) == {"+"}
    assert {"(AFIB", "(N", "(J"} == set(notes.aux_note)


def test_two_afdb_records_have_no_signals(tmp_path: Path) -> None:
    for name in ("00735", "03665"):
        DATASETS["afdb"].write_record(tmp_path, SETTINGS, name)
    assert not list(tmp_path.glob("*.dat"))
    assert wfdb.rdheader(str(tmp_path / "00735")).n_sig == 0


def test_a_challenge_file_is_a_row_of_16_bit_numbers(roots: dict[str, Path]) -> None:
    path = roots["challenge2017"] / "training/A00/A00001.mat"
    val = io.loadmat(path)["val"]
    assert (val.dtype, val.shape[0]) == (np.int16, 1)
    assert path.read_bytes()[:4] == bytes([30, 0, 0, 0])
    assert path.stat().st_size == 24 + 2 * val.size


def test_challenge_headers_read_with_their_date_last(roots: dict[str, Path]) -> None:
    header = wfdb.rdheader(str(roots["challenge2017"] / "training/A00/A00002"))
    assert (header.fs, header.sig_name, header.adc_gain) == (300, ["ECG"], [1000.0])
    assert 9 <= header.sig_len / header.fs <= 61


def test_challenge_validation_is_a_copy_of_training(roots: dict[str, Path]) -> None:
    copies = sorted((roots["challenge2017"] / "validation").glob("*.mat"))
    assert copies
    for copy in copies:
        assert (
            copy.read_bytes()
            == (roots["challenge2017"] / "training" / copy.name[:3] / copy.name).read_bytes()
        )


def test_challenge_keys_name_the_folder_in_training_only(roots: dict[str, Path]) -> None:
    train = (roots["challenge2017"] / "training/REFERENCE-v3.csv").read_text().splitlines()
    valid = (roots["challenge2017"] / "validation/REFERENCE-v3.csv").read_text().splitlines()
    assert train[0].startswith("A00/A00001,")
    assert valid[0].startswith("A00001,")


def test_challenge_classes_have_their_natural_shares() -> None:
    from preprocessing.synth.challenge2017 import SHARES, label_of

    labels = [label_of(f"A{number:05d}") for number in range(1, 301)]
    shares = {label: labels.count(label) / len(labels) for label in SHARES}
    assert shares == pytest.approx(SHARES, abs=0.01)


def test_afpdb_is_half_hours_of_two_leads_in_format_16(roots: dict[str, Path]) -> None:
    names = sorted(path.stem for path in roots["afpdb"].glob("*.dat"))
    header = wfdb.rdheader(str(roots["afpdb"] / "p02"))
    assert names == ["n01", "n02", "p01", "p02"]
    assert (header.fs, header.sig_len, header.fmt) == (128, 230400, ["16", "16"])
    assert header.sig_name == ["ECG0", "ECG1"]


def test_an_ecgid_session_is_raw_and_filtered_with_age_and_sex(roots: dict[str, Path]) -> None:
    header = wfdb.rdheader(str(roots["ecgiddb"] / "Person_01/rec_1"))
    assert (header.fs, header.sig_len) == (500, 10000)
    assert header.sig_name == ["ECG I", "ECG I filtered"]
    assert [line.split(":")[0] for line in header.comments] == ["Age", "Sex", "ECG date"]


def test_every_ecgid_person_has_two_sessions_or_more(roots: dict[str, Path]) -> None:
    people = sorted(roots["ecgiddb"].glob("Person_*"))
    assert len(people) == 3
    assert all(len(list(person.glob("*.dat"))) >= 2 for person in people)


@pytest.mark.parametrize("dataset", ["mitdb", "afdb", "afpdb", "ecgiddb"])
def test_records_lists_what_is_there(roots: dict[str, Path], dataset: str) -> None:
    listed = (roots[dataset] / "RECORDS").read_text().split()
    headers = roots[dataset].rglob("*.hea")
    found = {str(path.relative_to(roots[dataset]).with_suffix("")) for path in headers}
    assert set(listed) == found
