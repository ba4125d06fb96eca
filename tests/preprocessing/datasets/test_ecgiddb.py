"""ECG-ID: sessions of people, age and sex."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.datasets import DATASETS
from storage.schema import Sex
from tests.preprocessing.datasets.reading import read, two_leads
from tests.wfdb_files import write_record


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
def test_real_lead_equals_what_wfdb_reads(real_data: Callable[[str], Path]) -> None:
    root = real_data("ecgiddb")
    expected = wfdb.rdrecord(str(root / "Person_02/rec_10"), channels=[0]).p_signal[:, 0]
    signal = read("ecgiddb", root, "Person_02-rec_10").signal
    np.testing.assert_allclose(signal, expected, atol=1e-4)
