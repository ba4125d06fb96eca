"""The writers of WFDB and MATLAB files, against independent readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb
from scipy import io

from preprocessing.synth.files import (
    checksum,
    header,
    pack16,
    pack212,
    rhythm_notes,
    write_annotations,
    write_val,
)
from preprocessing.synth.physiology.rhythm import Rhythm, Segment

UNITS = np.random.default_rng(0).integers(-2047, 2048, (2, 501)).astype(np.int16)


@pytest.mark.parametrize(("fmt", "pack"), [("212", pack212), ("16", pack16)])
def test_samples_read_back_equal(fmt: str, pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    (tmp_path / "r.dat").write_bytes(pack(UNITS))
    text = header("r 2 250 501", f"r.dat {fmt} 200 12 0", UNITS, ("a", "b"))
    (tmp_path / "r.hea").write_text(text)
    read = wfdb.rdrecord(str(tmp_path / "r"), physical=False)
    np.testing.assert_array_equal(read.d_signal, UNITS.T)


def test_the_checksum_is_the_readers(tmp_path: Path) -> None:
    (tmp_path / "r.dat").write_bytes(pack16(UNITS))
    (tmp_path / "r.hea").write_text(header("r 2 250 501", "r.dat 16 200 12 0", UNITS, ("a", "b")))
    read = wfdb.rdrecord(str(tmp_path / "r"), physical=False)
    assert [c % 65536 for c in read.calc_checksum()] == [checksum(row) % 65536 for row in UNITS]


def test_rhythm_notes_begin_after_the_start() -> None:
    segments = [Segment(0.0, 9.0, Rhythm.SINUS), Segment(9.0, 20.0, Rhythm.JUNCTIONAL)]
    notes = rhythm_notes(segments, 100, {Rhythm.JUNCTIONAL: "J"})
    assert notes == [(15, "+", "(N"), (900, "+", "(J")]


def test_annotations_read_back_equal(tmp_path: Path) -> None:
    write_annotations(tmp_path, "r", [15, 70, 900000], ["+", "V", "+"], ["(N\0", "", "(AFIB\0"])
    read = wfdb.rdann(str(tmp_path / "r"), "atr")
    assert read.sample.tolist() == [15, 70, 900000]
    assert read.symbol == ["+", "V", "+"]
    assert read.aux_note == ["(N\0", "", "(AFIB\0"]


def test_a_matlab_file_reads_back_equal(tmp_path: Path) -> None:
    write_val(tmp_path / "a.mat", UNITS[0])
    val = io.loadmat(tmp_path / "a.mat")["val"]
    np.testing.assert_array_equal(val, UNITS[:1])
    assert val.dtype == np.int16
