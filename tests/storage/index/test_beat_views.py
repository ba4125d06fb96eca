"""The views of beats and heart-rate variability, on beats whose times are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from storage.schema import RPeaks
from storage.snapshot import open_index
from tests.storage.index.test_scoring_rows import make_scoring, publish_scored
from tests.storage.made_store import make_row, publish_rows, write_recording

EXCELLENT, UNACCEPTABLE = 0, 2


def r_peaks(time_s: NDArray[np.float64], *, not_normal: tuple[int, ...] = ()) -> RPeaks:
    row = (time_s // 10).astype(np.intp)
    normal = np.ones(len(time_s), bool)
    normal[[0, *not_normal]] = False
    offset_s = (time_s - 10 * row).astype(np.float32)
    return RPeaks(row, offset_s, np.ones(len(time_s), bool), normal)


def publish_beats(root: Path, beats: RPeaks, n: int, **columns: Any) -> None:
    quality = {"quality": np.zeros(n, np.int8)} | columns
    publish_rows(root, [write_recording(root, make_row(), n, beats=beats, **quality)])


def ask(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with open_index(root) as index:
        return index.execute(sql).fetchall()


TIMES = np.cumsum(np.r_[0.5, 1 + 0.1 * np.sin(np.arange(680))])
"""Intervals of 0.9 to 1.1 s: eleven minutes."""


def test_every_beat_has_its_time_and_its_interval(root: Path) -> None:
    publish_beats(root, r_peaks(TIMES), 70)
    rows = ask(root, "SELECT t_s, rr_s, usable, row FROM beats ORDER BY t_s")
    assert [row[0] for row in rows] == pytest.approx(TIMES, abs=1e-5)
    assert rows[0][1:3] == (None, False)
    assert [row[1] for row in rows[1:]] == pytest.approx(np.diff(TIMES), abs=1e-5)
    assert all(row[2] for row in rows[1:])
    assert [row[3] for row in rows] == (TIMES // 10).astype(int).tolist()


def test_hrv_of_five_minutes_is_that_of_the_intervals(root: Path) -> None:
    publish_beats(root, r_peaks(TIMES), 70)
    (_, start, n, share, mean, sdnn, rmssd, pnn50), *others = ask(root, "FROM hrv_by_5min")
    inside = TIMES[TIMES < 300]
    rr = 1000 * np.diff(inside)
    assert (start, n) == (0, len(inside))
    assert share == pytest.approx((len(inside) - 1) / len(inside))
    assert [mean, sdnn] == pytest.approx([rr.mean(), rr.std(ddof=1)], rel=1e-4)
    changes = np.diff(rr)
    assert rmssd == pytest.approx(np.sqrt(np.mean(changes**2)), rel=1e-4)
    assert pnn50 == pytest.approx(np.mean(np.abs(changes) > 50))
    assert [row[1] for row in others] == [300, 600]


def test_rmssd_uses_no_change_next_to_an_interval_that_is_not_normal(root: Path) -> None:
    late = TIMES.copy()
    late[100] += 0.3  # two intervals are wrong, and three changes
    publish_beats(root, r_peaks(late, not_normal=(100, 101)), 70)
    ((rmssd, share),) = ask(root, "SELECT rmssd_ms, usable_share FROM hrv_by_recording")
    changes = 1000 * np.diff(np.diff(TIMES))
    kept = np.delete(changes, [98, 99, 100])
    assert rmssd == pytest.approx(np.sqrt(np.mean(kept**2)), rel=1e-4)
    assert share == pytest.approx((len(TIMES) - 3) / len(TIMES))


def test_beats_in_unacceptable_windows_are_not_usable(root: Path) -> None:
    quality = np.zeros(70, np.int8)
    quality[3] = UNACCEPTABLE
    publish_beats(root, r_peaks(TIMES), 70, quality=quality)
    rows = ask(root, "SELECT t_s FROM beats WHERE NOT usable ORDER BY t_s")
    after = TIMES[TIMES >= 40][0]  # its interval begins in the window
    expected = [TIMES[0], *TIMES[(TIMES >= 30) & (TIMES < 40)], after]
    assert [row[0] for row in rows] == pytest.approx(expected, abs=1e-5)


def test_hrv_by_stage_has_the_beats_of_each_stage(root: Path) -> None:
    columns = {"quality": np.zeros(70, np.int8)}
    row = write_recording(root, make_row(), 70, beats=r_peaks(TIMES), **columns)
    scoring = make_scoring([(0, 300, "W", None), (300, 390, "REM", None)])
    publish_scored(root, [replace(row, scoring_digest="x")], {row.name: scoring})
    found = dict(ask(root, "SELECT stage, n_beats FROM hrv_by_stage"))
    assert found == {"W": np.sum(TIMES < 300), "REM": np.sum(TIMES >= 300)}


def test_a_recording_without_beats_has_none(root: Path) -> None:
    publish_rows(root, [write_recording(root, make_row(), 3)])
    assert ask(root, "FROM beats") == ask(root, "FROM hrv_by_5min") == []
