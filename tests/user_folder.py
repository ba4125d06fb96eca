"""A researcher's own folder: real recordings of three formats and a table as people write it."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import edfio
import numpy as np

from preprocessing.formats.wfdb_record import read_wfdb_lead

SEPARATE_LABELS = ("ECG II", "EKG-R", "ECG EKG2-EKG", "Lead II")
"""Labels of the EDFs' ECG: only the first is one of the default names."""

_TABLE = """\
Filename;Patient ID;Session;Gender;Age;Remark
night-1;P-01;Baseline;F;63,5;Fünf Stunden Schlaf
nights\\NIGHT-2.EDF;P-01;6 months;w;64;
night-3.edf;P-02;Baseline;male;51;
night-4.edf;P-02;6 months;1;52;
holter/100.dat;P-03;Baseline;M;69;
holter/114;P-04;Baseline;2;75;
201.hea;P-05;Baseline;;unknown;
A00001.mat;P-06;Baseline;Frau;40;
mat/A00002;P-07;Baseline;M.;41;
A00004;P-08;Baseline;f;42;
"""


def write_user_folder(folder: Path, real: Path) -> Path:
    """Write ten real recordings, four EDFs, three WFDB records and three .mat, and the table."""
    for number, (source, label) in enumerate(
        zip(("n01", "n02", "p01", "p02"), SEPARATE_LABELS, strict=True), start=1
    ):
        _write_edf(folder / "nights" / f"night-{number}.edf", real / "afpdb" / source, label)
    for record in ("100", "114", "201"):
        _copy(sorted((real / "mitdb").glob(f"{record}.*")), folder / "holter")
    for record in ("A00001", "A00002", "A00004"):
        _copy(sorted((real / "challenge-2017/training").rglob(f"{record}.*")), folder / "mat")
    (folder / "subjects.csv").write_bytes(_TABLE.replace("\n", "\r\n").encode("cp1252"))
    return folder


def _copy(files: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)


def _write_edf(path: Path, record: Path, label: str) -> None:
    """Write a real ECG beside a silent EEG, with a header as EDF+ recorders fill it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = read_wfdb_lead(record.with_suffix(".hea"), ("ECG0",), note_others=False)
    n_samples = int(raw.signal.size // raw.fs * raw.fs)
    ecg = np.nan_to_num(raw.signal[:n_samples].astype(np.float64))
    signals = [
        edfio.EdfSignal(values, raw.fs, label=name, physical_dimension="mV",
                        physical_range=(-20, 20))
        for name, values in (("EEG C3-A2", np.zeros(n_samples)), (label, np.clip(ecg, -20, 20)))
    ]  # fmt: skip
    edfio.Edf(
        signals,
        patient=edfio.Patient(sex="F", birthdate=datetime.date(1960, 5, 2)),
        recording=edfio.Recording(startdate=datetime.date(2020, 6, 1)),
        starttime=datetime.time(22, 30),
        data_record_duration=1,
    ).write(path)
