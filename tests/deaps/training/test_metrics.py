"""The log of metrics across kills and resumes, and measures of collapse whose answer is known."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from deaps.training.metrics import (
    LINES_NAME,
    TABLE_NAME,
    MetricsLog,
    effective_rank,
    read_metrics,
    representation_std,
)


def write_steps(folder: Path, first: int, last: int, *, resume_step: int = 0) -> None:
    log = MetricsLog(folder, resume_step=resume_step)
    for step in range(first, last + 1):
        log.write({"step": step, "loss": 1.0 / step})
    log.close()


def test_rows_come_back(tmp_path: Path) -> None:
    write_steps(tmp_path, 1, 3)
    assert [row["step"] for row in read_metrics(tmp_path)] == [1, 2, 3]
    assert pq.read_table(tmp_path / TABLE_NAME).column("step").to_pylist() == [1, 2, 3]


def test_resume_drops_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    write_steps(tmp_path, 1, 5)
    write_steps(tmp_path, 4, 6, resume_step=3)
    assert [row["step"] for row in read_metrics(tmp_path)] == [1, 2, 3, 4, 5, 6]


def test_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    write_steps(tmp_path, 1, 2)
    with (tmp_path / LINES_NAME).open("a") as stream:
        stream.write('{"step": 3, "lo')
    assert [row["step"] for row in read_metrics(tmp_path)] == [1, 2]
    write_steps(tmp_path, 3, 3, resume_step=2)
    assert [row["step"] for row in read_metrics(tmp_path)] == [1, 2, 3]


def test_tensorboard_gets_every_value(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    write_steps(tmp_path, 1, 3)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("loss")] == [1, 2, 3]


def test_folder_that_is_removed_is_one_error_and_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FileNotFoundError):
        write_into_removed_folder(tmp_path / "run")
    assert "Traceback" not in capfd.readouterr().err


def write_into_removed_folder(folder: Path) -> None:
    with MetricsLog(folder) as log:
        log.write({"step": 1, "loss": 1.0})
        shutil.rmtree(folder)
        for step in range(2, 1000):
            log.write({"step": step, "loss": 1.0})


def test_equal_rows_have_no_spread_and_no_rank() -> None:
    rows = torch.ones(20, 1) @ torch.randn(1, 8)
    assert representation_std(rows) == pytest.approx(0, abs=1e-6)
    assert effective_rank(rows) == pytest.approx(0, abs=1e-2)


def test_rows_on_a_line_have_rank_one() -> None:
    rows = torch.randn(50, 1) @ torch.randn(1, 8) + 3
    assert effective_rank(rows) == pytest.approx(1, abs=1e-3)


def test_even_spread_has_full_rank() -> None:
    rows = torch.cat([torch.eye(8), -torch.eye(8)])
    assert effective_rank(rows) == pytest.approx(8, abs=1e-4)


def test_spread_of_noise_is_one_over_root_of_features() -> None:
    rows = torch.randn(4000, 64, generator=torch.Generator().manual_seed(0))
    assert representation_std(rows) == pytest.approx(64**-0.5, rel=0.02)


def test_neither_depends_on_scale() -> None:
    rows = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    assert representation_std(7 * rows) == pytest.approx(representation_std(rows))
    assert effective_rank(7 * rows) == pytest.approx(effective_rank(rows), rel=1e-4)
