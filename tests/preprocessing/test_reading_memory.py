"""Memory: a small file that asks for much is refused before anything is allocated."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from preprocessing.formats.matlab import read_mat_lead
from preprocessing.formats.wfdb_record import read_wfdb_lead
from preprocessing.plausibility import (
    DEFAULT_READING_BYTES,
    READING_BYTES_PER_SAMPLE,
    Claims,
    check_claims,
    reading_memory,
)
from preprocessing.recording import UnreadableRecordingError

HEADER = "A1 1 300 9000\nA1.mat 16+24 1000/mV 16 0 0 0 0 ECG\n"


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


def test_a_day_of_twelve_leads_at_500_hz_passes() -> None:
    check_claims(Claims(500, 24 * 3600 * 500, 0.005))


def test_the_limit_is_a_setting() -> None:
    n_samples = DEFAULT_READING_BYTES // READING_BYTES_PER_SAMPLE + 1
    claims = Claims(500, n_samples, 0.005)
    with pytest.raises(UnreadableRecordingError, match=r"raise execution\.recording_megabytes"):
        check_claims(claims)
    with reading_memory(2 * DEFAULT_READING_BYTES):
        check_claims(claims)


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
    assert peak < 24 * 3600 * 500 * READING_BYTES_PER_SAMPLE
