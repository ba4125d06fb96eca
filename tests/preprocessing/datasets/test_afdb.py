"""MIT-AFIB: records without signals, gain 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocessing.recording import UnreadableRecordingError
from tests.edf_files import beats
from tests.preprocessing.datasets.reading import read, two_leads
from tests.wfdb_files import write_record


def test_header_without_dat_is_refused(tmp_path: Path) -> None:
    write_record(tmp_path, "04015", two_leads(20, 250, "ECG1", "ECG2"), fs=250)
    (tmp_path / "04015.dat").unlink()
    with pytest.raises(UnreadableRecordingError, match="header without its signal file"):
        read("afdb", tmp_path, "04015")


def test_header_without_signals_is_refused(tmp_path: Path) -> None:
    (tmp_path / "00735.hea").write_text("00735 0 250 0\n")
    with pytest.raises(UnreadableRecordingError, match="header without its signal file"):
        read("afdb", tmp_path, "00735")


def test_gain_of_zero_means_the_default(tmp_path: Path) -> None:
    header = write_record(tmp_path, "04015", two_leads(20, 250, "ECG1", "ECG2"), fs=250)
    header.write_text(header.read_text().replace("200.0(0)/mV", "0").replace("200(0)/mV", "0"))
    np.testing.assert_allclose(
        read("afdb", tmp_path, "04015").signal, beats(20, 250, seed=1), atol=1 / 200
    )
