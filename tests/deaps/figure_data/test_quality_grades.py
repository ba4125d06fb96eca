"""Our score against the technicians' grades."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from deaps.report.quality import quality_grades, spearman
from storage.publish import publish
from storage.schema import DatasetRow, SubjectRow
from storage.snapshot import open_index
from tests.storage.made_store import SETTINGS, make_row, write_recording


def test_the_rank_correlation_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 5, 60).astype(float), rng.standard_normal(60)
    second -= 0.3 * first
    expected = spearmanr(first, second).statistic
    assert spearman(first, second) == pytest.approx(expected)
    assert spearman(np.ones(4), np.arange(4.0)) is None
    assert spearman(np.ones(1), np.ones(1)) is None


def test_worse_grades_with_more_unacceptable_windows_correlate_negatively(tmp_path: Path) -> None:
    rows, subjects = [], []
    for k in range(20):
        bad = np.where(np.arange(20) < k, 2, 0).astype(np.int8)
        row = make_row(f"r{k}", subject=f"p{k // 2}", visit=1 + k % 2)
        rows.append(write_recording(tmp_path, row, 20, quality=bad))
        grade = {"hrqual" if k % 2 == 0 else "quhr": str(5 - k // 4)}
        subjects.append(SubjectRow("ds", f"p{k // 2}", 1 + k % 2, grade))
    publish(tmp_path, rows, datasets=[DatasetRow("ds")], settings=SETTINGS, subjects=subjects)
    with open_index(tmp_path) as index:
        (found,) = quality_grades(index, seed=0, draws=200)
        (again,) = quality_grades(index, seed=0, draws=200)
    assert found.correlation is not None
    assert found.low is not None
    assert found.high is not None
    assert found.correlation < -0.9
    assert found.low < found.high < -0.8
    assert (found.subjects, len(found.grade)) == (10, 20)
    assert again == found


def test_without_grades_there_is_nothing_to_compare(tmp_path: Path) -> None:
    row = write_recording(tmp_path, make_row(), 3)
    publish(tmp_path, [row], datasets=[DatasetRow("ds")], settings=SETTINGS)
    with open_index(tmp_path) as index:
        assert quality_grades(index, seed=0) == ()
