"""Annotation files: the texts that the wfdb package reads, and an answer to every damaged one."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.formats.wfdb_annotations import read_annotation_texts
from preprocessing.formats.wfdb_record import read_rhythms
from preprocessing.recording import UnreadableRecordingError

_NOTE, _RHYTHM = 22, 28


def word(code: int, value: int) -> bytes:
    return struct.pack("<H", code << 10 | value)


def annotation(code: int, interval: int, text: str = "") -> bytes:
    """Return one annotation, with a text of an even number of characters."""
    return word(code, interval) + (word(63, len(text)) + text.encode() if text else b"")


def write(path: Path, *parts: bytes, end: bytes = b"\0\0") -> Path:
    path.write_bytes(b"".join(parts) + end)
    return path


def rhythms(folder: Path, duration_s: float = 60.0) -> tuple:
    """Return the rhythms beside a header of 360 frames a second."""
    (folder / "r.hea").write_text("r 1 360 21600\nr.dat 16x4 200\n")
    return read_rhythms(folder / "r.hea", duration_s=duration_s)


@pytest.mark.parametrize("seed", range(5))
def test_texts_are_those_that_the_wfdb_package_reads(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = np.cumsum(rng.integers(1, 200_000, 40))
    texts = [str(rng.choice(["", "(N\0", "(AFIB\0", "odd"])) for _ in samples]
    wfdb.wrann(
        "r", "atr", samples, symbol=["+"] * 40, aux_note=texts, chan=rng.integers(0, 3, 40),
        subtype=rng.integers(0, 5, 40), num=rng.integers(0, 5, 40), fs=250,
        write_dir=str(tmp_path),
    )  # fmt: skip
    read = wfdb.rdann(str(tmp_path / "r"), "atr")
    expected = [(s / 250, text) for s, text in zip(read.sample, read.aux_note, strict=True) if text]
    assert read_annotation_texts(tmp_path / "r.atr", 250) == expected
    assert len(expected) > 10


@pytest.mark.timeout(20)
def test_remark_at_the_start_is_no_trap(tmp_path: Path) -> None:
    """The wfdb package reads such a file for ever."""
    write(
        tmp_path / "r.atr",
        annotation(_NOTE, 0, "## checked"),
        annotation(_RHYTHM, 36, "(N"),
    )
    (change,), notes = rhythms(tmp_path)
    assert (change.start_s, change.rhythm, notes) == (0.1, "N", ())


@pytest.mark.parametrize("kept", [3, 5, 11, 12])
def test_labels_of_a_file_that_is_cut_are_not_believed(tmp_path: Path, kept: int) -> None:
    parts = annotation(_RHYTHM, 36, "(N") + word(59, 0) + struct.pack("<HH", 5, 0)
    path = write(tmp_path / "r.atr", parts, end=b"")
    path.write_bytes(parts[:kept])
    changes, (note,) = rhythms(tmp_path)
    assert changes == ()
    assert "no labels" in note


def test_annotation_before_the_record_is_refused(tmp_path: Path) -> None:
    back = word(59, 0) + struct.pack("<HH", 0xFFFF, 0xFFFF)
    path = write(tmp_path / "r.atr", back, annotation(_RHYTHM, 0, "(N"))
    with pytest.raises(UnreadableRecordingError, match="before the record"):
        read_annotation_texts(path, 360)


def test_a_time_resolution_of_its_own_is_the_unit_of_all_times(tmp_path: Path) -> None:
    """MIMIC's and multi-rate records count annotations in finer units than frames."""
    definition = annotation(_NOTE, 0, "## time resolution: 1440")
    write(tmp_path / "r.atr", definition, annotation(_RHYTHM, 720, "(N"))
    (change,), notes = rhythms(tmp_path)
    assert (change.start_s, notes) == (0.5, ())


@pytest.mark.parametrize("rate", ["0", "-360", "many"])
def test_an_impossible_time_resolution_gives_no_labels(tmp_path: Path, rate: str) -> None:
    text = f"## time resolution: {rate}"
    write(tmp_path / "r.atr", annotation(_NOTE, 0, text + " " * (len(text) % 2)))
    changes, (note,) = rhythms(tmp_path)
    assert changes == ()
    assert "time resolution" in note


def test_rhythms_after_the_end_are_noted(tmp_path: Path) -> None:
    write(tmp_path / "r.atr", annotation(_RHYTHM, 36, "(N"), annotation(_RHYTHM, 1000, "(VT\0"))
    changes, (note,) = rhythms(tmp_path, duration_s=2.0)
    assert len(changes) == 2
    assert note == "annotations after the signal's end: 1 rhythms have no window"
