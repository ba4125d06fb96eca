"""Memory: a small file that asks for much is refused before anything is allocated."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from preprocessing.datasets import DATASETS
from preprocessing.formats.matlab import read_mat_lead
from preprocessing.formats.wfdb_annotations import read_annotation_texts
from preprocessing.formats.wfdb_header import read_wfdb_header
from preprocessing.formats.wfdb_record import read_wfdb_lead
from preprocessing.plausibility import (
    DEFAULT_READING_BYTES,
    Claims,
    check_claims,
    reading_bytes,
    reading_memory,
)
from preprocessing.recording import UnreadableRecordingError
from preprocessing.user_folder.table import read_subject_table
from tests.edf_files import beats, write_edf
from tests.flows.inline import one, run, settings_for

HEADER = "A1 1 300 9000\nA1.mat 16+24 1000/mV 16 0 0 0 0 ECG\n"


at_250 = partial(read_annotation_texts, fs=250)


def sparse(path: Path, n_bytes: int) -> Path:
    """Make a file that is large and takes no space."""
    with path.open("wb") as file:
        file.truncate(n_bytes)
    return path


def peak_megabytes(read: Callable[[Path], object], path: Path) -> float:
    tracemalloc.start()
    try:
        with (
            reading_memory(100_000_000),
            pytest.raises(UnreadableRecordingError, match="memory: reading it takes"),
        ):
            read(path)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_mat_that_inflates_is_refused_without_inflating(tmp_path: Path) -> None:
    (tmp_path / "A1.hea").write_text(HEADER)
    path = tmp_path / "A1.mat"
    savemat(path, {"val": np.zeros((1, 150_000_000), np.int8)}, do_compression=True)
    assert path.stat().st_size < 400_000
    assert peak_megabytes(read_mat_lead, path) < 20


def test_mat_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "A1.hea").write_text(HEADER)
    path = tmp_path / "A1.mat"
    savemat(path, {"val": np.zeros((1, 9000), np.int16)}, do_compression=True)
    data = bytearray(path.read_bytes())
    inflated = bytearray(zlib.decompress(bytes(data[136:])))
    inflated[0:8] = (14).to_bytes(4, "little") + (2**31 - 9).to_bytes(4, "little")
    bomb = zlib.compress(bytes(inflated) + bytes(110_000_000))
    path.write_bytes(bytes(data[:132]) + len(bomb).to_bytes(4, "little") + bomb)
    assert peak_megabytes(read_mat_lead, path) < 20


def test_skew_of_a_hundred_million_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.dat").write_bytes(bytes(2 * 3600))
    (tmp_path / "r.hea").write_text("r 1 20000 3600\nr.dat 16:100000000 200 16 0 0 0 0 II\n")
    assert peak_megabytes(read_wfdb_lead, tmp_path / "r.hea") < 20


def test_mat_that_is_large_itself_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "A1.hea").write_text(HEADER)
    sparse(tmp_path / "A1.mat", 60_000_000)
    assert peak_megabytes(read_mat_lead, tmp_path / "A1.mat") < 20


def test_annotations_that_are_too_large_are_refused_unread(tmp_path: Path) -> None:
    assert peak_megabytes(at_250, sparse(tmp_path / "r.atr", 2_000_000)) < 1


def test_many_texts_of_annotations_take_seconds(tmp_path: Path) -> None:
    text = (63 << 10 | 2).to_bytes(2, "little") + b"(N"
    (tmp_path / "r.atr").write_bytes(text * 500_000 + b"\0\0")
    started = time.process_time()
    assert len(at_250(tmp_path / "r.atr")) == 500_000
    assert time.process_time() - started < 5


def test_flac_of_many_leads_is_refused_undecoded(tmp_path: Path) -> None:
    rows = "".join(f"r.dat 516 200 16 0 0 0 0 V{i}\n" for i in range(1, 13))
    (tmp_path / "r.hea").write_text(f"r 12 500 1000000\n{rows}")
    (tmp_path / "r.dat").write_bytes(b"fLaC")
    assert peak_megabytes(lambda path: read_wfdb_lead(path, ("V5",)), tmp_path / "r.hea") < 20


def test_a_header_of_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRecordingError, match="more than 16 MB"):
        read_wfdb_header(sparse(tmp_path / "r.hea", 10_000_000_000))


@pytest.mark.parametrize(
    "content",
    [b"file,subject\n" + b"a,b\n" * 200_000, b"x" * 13_000_000, b"file;subject\r" * 200_000],
    ids=["many rows", "one row", "old Macintosh"],
)
def test_a_table_that_takes_too_much_memory_is_a_warning(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "subjects.csv"
    path.write_bytes(content)
    tracemalloc.start()
    with reading_memory(100_000_000):
        table = read_subject_table(path, ["a.edf"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(content)
    assert not table.lines
    (warning,) = table.warnings
    assert warning.startswith("subjects.csv: not read: memory: reading it takes 1")
    assert "raise execution.recording_megabytes" in warning


def test_a_table_takes_no_more_memory_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    rows = "".join(f"night-{i}.edf,s{i},1,M,{i % 90}\n" for i in range(20_000))
    path.write_text(f"file,subject,visit,sex,age\n{rows}")
    needed = 8 * path.stat().st_size + 20_001 * 700
    tracemalloc.start()
    with reading_memory(needed):
        table = read_subject_table(path, ["night-7.edf"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.lines["night-7.edf"].subject == "s7"
    assert peak < needed


def test_the_setting_bounds_the_tables_of_a_run(tmp_path: Path) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(40)})
    for name in ("subjects.csv", "events.csv"):
        (tmp_path / "data" / name).write_bytes(b"file,start_s\n" + b"a,b\n" * 20_000)
    settings = settings_for(
        tmp_path / "store", "execution.recording_megabytes=10", folder=tmp_path / "data"
    )
    run(settings)
    text = " ".join(one(settings, "SELECT warnings FROM datasets"))
    assert text.count("not read: memory: reading it takes 1") == 2


def test_labels_that_take_too_much_memory_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "REFERENCE.csv").write_bytes(b"A1,N\n" * 30_000)
    with reading_memory(10_000_000):
        (warning,) = DATASETS["challenge2017"].tables(tmp_path).warnings
    assert warning.startswith("REFERENCE.csv: not read: memory: reading it takes 1")


def test_a_line_of_spaces_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "REFERENCE.csv").write_text(" " * 5000 + "\n" + "/ " * 5000 + "\nA1,N\n")
    started = time.process_time()
    tables = DATASETS["challenge2017"].tables(tmp_path)
    assert tables.facts["A1"].label == "N"
    assert "1 lines are damaged" in tables.warnings[0]
    assert time.process_time() - started < 5


def test_a_day_of_twelve_leads_at_500_hz_passes() -> None:
    check_claims(Claims(500, 24 * 3600 * 500, 0.005))


def test_the_limit_is_a_setting() -> None:
    n_samples = int(DEFAULT_READING_BYTES / reading_bytes(1, 500)) + 1
    claims = Claims(500, n_samples, 0.005)
    with pytest.raises(UnreadableRecordingError, match=r"raise execution\.recording_megabytes"):
        check_claims(claims)
    with reading_memory(2 * DEFAULT_READING_BYTES):
        check_claims(claims)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is Linux's")
@pytest.mark.parametrize("fs", [45.0, 125.0, 1000.0])
def test_a_recording_takes_no_more_memory_than_was_said(fs: float) -> None:
    n_samples = 6_000_000
    script = f"""
import re, numpy as np
from pathlib import Path
from preprocessing.chain import process
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.plausibility import check_recording
from preprocessing.recording import RawRecording
def run(n):
    noise = np.resize(np.random.default_rng(0).standard_normal(100_000, np.float32), n)
    raw = check_recording(RawRecording(noise, {fs}, "ECG"))
    process(raw, signal=SignalSettings(), quality=QualitySettings())
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
first = run(100_000)
print((run({n_samples}) - first) * 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert 0.5 < int(done.stdout) / reading_bytes(n_samples, fs) < 1.05


@pytest.mark.slow
def test_reading_a_day_of_twelve_leads_takes_what_is_allowed(tmp_path: Path) -> None:
    n = 24 * 3600 * 500
    rows = "".join(f"r.dat 16 200 16 0 0 0 0 V{i}\n" for i in range(1, 13))
    (tmp_path / "r.hea").write_text(f"r 12 500 {n}\n{rows}")
    with (tmp_path / "r.dat").open("wb") as file:
        file.truncate(2 * 12 * n)
    tracemalloc.start()
    raw = read_wfdb_lead(tmp_path / "r.hea", ("V5",))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert raw.signal.size == n
    assert peak < reading_bytes(24 * 3600 * 500, 500)
