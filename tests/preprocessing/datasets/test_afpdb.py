"""PAF Prediction: half hours of one subject, missing samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.datasets import DATASETS
from tests.preprocessing.datasets.reading import read, two_leads
from tests.wfdb_files import write_record


def test_invalid_samples_become_nan(tmp_path: Path) -> None:
    leads = two_leads(20, 128, "ECG0", "ECG1")
    leads["ECG0"][100:150] = np.nan
    write_record(tmp_path, "n01", leads, fs=128, fmt="16")
    signal = read("afpdb", tmp_path, "n01").signal
    assert np.flatnonzero(np.isnan(signal)).tolist() == list(range(100, 150))


def test_consecutive_numbers_are_two_half_hours_of_one_subject(tmp_path: Path) -> None:
    for name in ("n01", "n02", "p03", "p04", "p04c", "t99", "t100"):
        write_record(tmp_path, name, two_leads(11, 128, "ECG0", "ECG1"), fs=128, fmt="16")
    found = {r.name: (r.subject, r.visit) for r in DATASETS["afpdb"].find(tmp_path)}
    assert found == {
        "n01": ("n01", 1), "n02": ("n01", 2), "p03": ("p02", 1), "p04": ("p02", 2),
        "t99": ("t50", 1), "t100": ("t50", 2),
    }  # fmt: skip


@pytest.mark.real
def test_real_lead_equals_what_wfdb_reads(real_data: Callable[[str], Path]) -> None:
    root = real_data("afpdb")
    expected = wfdb.rdrecord(str(root / "p10"), channels=[0]).p_signal[:, 0]
    np.testing.assert_allclose(read("afpdb", root, "p10").signal, expected, atol=1e-4)


@pytest.mark.real
def test_real_test_records_are_fifty_further_subjects(real_data: Callable[[str], Path]) -> None:
    subjects: dict[str, list[int]] = {}
    for recording in DATASETS["afpdb"].find(real_data("afpdb")):
        subjects.setdefault(recording.subject, []).append(recording.visit)
    assert sum(subject.startswith("t") for subject in subjects) == 50
    assert {tuple(sorted(visits)) for visits in subjects.values()} == {(1, 2)}
