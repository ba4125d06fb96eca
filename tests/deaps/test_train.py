"""The training loop: what it leaves, and that kills change nothing."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from safetensors.torch import load_file

import deaps.train
from deaps.method_registry import PAPER_METHODS
from deaps.methods.deaps import Byol
from deaps.models.encoder_file import load_encoder, read_about
from deaps.train import StepClock, TrainingStoppedError, train_run
from deaps.training.metrics import read_metrics
from deaps.training.run_folder import Run, encoder_files, open_run
from storage import check_store, remove_unused_files
from storage.errors import DeapsError
from storage.files import CHECKPOINTS_FOLDER
from tests.deaps.training.training_store import make_run, make_training_store

TIMES = {"step_s", "windows_per_s", "waiting_share"}


class StoppedError(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_training_store(tmp_path_factory.mktemp("made") / "store")


@pytest.fixture
def store(made_store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_store, tmp_path / "store"))


def last_weights(run: Run) -> dict[str, torch.Tensor]:
    newest = sorted((run.folder / CHECKPOINTS_FOLDER).glob("step-*"))[-1]
    return load_file(newest / "weights.safetensors")


def curve(run: Run) -> list[dict[str, float]]:
    return [{k: v for k, v in row.items() if k not in TIMES} for row in read_metrics(run.folder)]


def assert_same(run: Run, other: Run) -> None:
    """Compare encoders and losses: steps after a resume need all of the state to agree."""
    files, other_files = dict(encoder_files(run.folder)), dict(encoder_files(other.folder))
    assert list(files) == list(other_files)
    for step, path in files.items():
        weights, other_weights = load_file(path), load_file(other_files[step])
        assert all(torch.equal(weights[name], other_weights[name]) for name in weights)
    assert curve(run) == curve(other)


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_every_method_trains_and_leaves_an_encoder(store: Path, method: str) -> None:
    run = train_run(make_run(store, method, iterations=2, tfc_iterations=2).folder, device="cpu")
    assert run.finished
    (first, _), (last, path) = encoder_files(run.folder)
    assert (first, last) == (0, 2)
    width = 256 if method == "tf-c" else 128
    assert load_encoder(path)(torch.randn(3, 1000)).shape == (3, width)


def test_training_raises_the_limit_of_open_files(store: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        train_run(make_run(store, iterations=1).folder, device="cpu")
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_metrics_tell_loss_speed_and_collapse(store: Path) -> None:
    run = train_run(make_run(store, "deaps").folder, device="cpu")
    rows = read_metrics(run.folder)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {
        "loss", "static", "gradual", "covariance", "learning_rate", "gradient_norm",
        "representation_std", "effective_rank", "windows_per_s", "waiting_share", "step_s",
    } <= set(rows[0])  # fmt: skip


def test_run_json_says_what_was_trained_on_what(store: Path) -> None:
    run = train_run(make_run(store).folder, device="cpu")
    told = json.loads((run.folder / "run.json").read_text())
    assert (told["method"], told["iterations"]) == ("byol", 6)
    assert told["snapshot"] == run.snapshot_id
    assert told["config"]["training"]["seed"] == 3
    assert told["synthetic"] is False
    assert (told["device"], told["processes"]) == ("cpu", 1)


def test_speed_and_waiting_are_those_since_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("deaps.train.time.perf_counter", lambda: now)
    loader: Any = SimpleNamespace(waited_s=5.0)
    batch: Any = SimpleNamespace(windows=torch.zeros(8, 3, 1))
    clock = StepClock(loader, step=10)
    now, loader.waited_s = 104.0, 6.0
    first = clock.row(20, batch, world=2)
    assert first == {"step": 20, "step_s": 0.4, "windows_per_s": 120.0, "waiting_share": 0.25}
    now, loader.waited_s = 106.0, 6.0
    second = clock.row(21, batch, world=1)
    assert second == {"step": 21, "step_s": 2.0, "windows_per_s": 12.0, "waiting_share": 0.0}


def test_finished_run_is_left_alone(store: Path) -> None:
    run = train_run(make_run(store).folder, device="cpu")
    before = {p: p.stat().st_mtime_ns for p in run.folder.rglob("*")}
    train_run(make_run(store).folder, device="cpu")
    assert {p: p.stat().st_mtime_ns for p in run.folder.rglob("*")} == before


def test_finished_run_keeps_its_encoders_and_no_checkpoint(store: Path) -> None:
    run = train_run(make_run(store).folder, device="cpu")
    assert not (run.folder / CHECKPOINTS_FOLDER).exists()
    assert [step for step, _ in encoder_files(run.folder)] == [0, 3, 6]
    assert check_store(store) == []


def test_a_kill_between_the_end_and_the_removal_of_checkpoints_leaves_a_finished_run(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path) -> None:
        raise StoppedError

    monkeypatch.setattr(deaps.train, "remove_checkpoints", killed)
    run = make_run(store)
    with pytest.raises(StoppedError):
        train_run(run.folder, device="cpu")
    assert train_run(run.folder, device="cpu").finished
    assert {finding.kind for finding in check_store(store)} == {"checkpoint"}
    assert not any(finding.is_error for finding in check_store(store))
    remove_unused_files(store, dry_run=False)
    assert check_store(store) == []
    assert not (run.folder / CHECKPOINTS_FOLDER).exists()


def test_an_encoder_says_of_which_step_it_is(store: Path) -> None:
    run = train_run(make_run(store).folder, device="cpu")
    steps = [int(read_about(path)["step"]) for _, path in encoder_files(run.folder)]
    assert steps == [0, 3, 6]


def test_only_the_last_encoder_is_kept_of_methods_that_are_named(store: Path) -> None:
    few, all_ = make_run(store, "pclr", last_encoder_only=("pclr",)), make_run(store, "byol")
    assert open_run(few.folder).plan.training.last_encoder_only == ("pclr",)
    for run, steps in ((few, [6]), (all_, [0, 3, 6])):
        train_run(run.folder, device="cpu")
        assert [step for step, _ in encoder_files(run.folder)] == steps


def test_what_is_kept_does_not_name_the_run(store: Path) -> None:
    assert make_run(store).folder == make_run(store, last_encoder_only=("byol",)).folder


@pytest.mark.parametrize("method", ["deaps", "mixing-up"])
@pytest.mark.parametrize("stop_at", [1, 3, 5])
def test_stopped_run_goes_on_bit_for_bit(
    store: Path, tmp_path: Path, method: str, stop_at: int
) -> None:
    whole = train_run(make_run(store, method).folder, device="cpu")
    copied = Path(shutil.copytree(store, tmp_path / "copy", ignore=lambda *_: ["runs"]))
    run = make_run(copied, method)

    def stop(step: int, total: int, row: dict[str, float]) -> None:
        if step == stop_at:
            raise StoppedError

    with pytest.raises(StoppedError):
        train_run(run.folder, device="cpu", progress=stop)
    assert not run.finished
    assert_same(train_run(run.folder, device="cpu"), whole)


def test_a_training_that_is_asked_to_stop_writes_a_checkpoint_and_says_where(
    store: Path, tmp_path: Path
) -> None:
    whole = train_run(make_run(store, checkpoint_every=1000).folder, device="cpu")
    copied = Path(shutil.copytree(store, tmp_path / "copy", ignore=lambda *_: ["runs"]))
    run = make_run(copied, checkpoint_every=1000)
    asked = iter([False, True])
    with pytest.raises(TrainingStoppedError, match=r"stopped at step 2 .* goes on from step 2"):
        train_run(run.folder, device="cpu", stop=lambda: next(asked))
    said: list[str] = []
    assert_same(train_run(run.folder, device="cpu", notify=said.append), whole)
    assert f"run {run.name}: going on from step 2" in said


def test_a_training_that_is_asked_to_stop_at_its_last_step_is_finished(store: Path) -> None:
    run = make_run(store)
    asked = iter([False] * 5 + [True])
    assert train_run(run.folder, device="cpu", stop=lambda: next(asked)).finished


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_sigterm_stops_training_processes_with_a_checkpoint(store: Path, processes: int) -> None:
    run = make_run(store, "deaps", iterations=4000, checkpoint_every=4000, evolution_every=4000)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={processes}", "-m", "deaps.train", str(run.folder), "--device=cpu",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 120
    while len(read_metrics(run.folder)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.terminate()
    _, said = process.communicate(timeout=60)
    step = len(read_metrics(run.folder))
    assert f"stopped at step {step} of 4,000" in said
    (checkpoint,) = (run.folder / CHECKPOINTS_FOLDER).glob("step-*")
    assert checkpoint.name == f"step-{step:08d}"


def test_damaged_newest_checkpoint_costs_only_time(store: Path, tmp_path: Path) -> None:
    whole = train_run(make_run(store).folder, device="cpu")
    copied = Path(shutil.copytree(store, tmp_path / "copy", ignore=lambda *_: ["runs"]))
    run = make_run(copied)

    def stop(step: int, total: int, row: dict[str, float]) -> None:
        if step == 5:
            raise StoppedError

    with pytest.raises(StoppedError):
        train_run(run.folder, device="cpu", progress=stop)
    newest = sorted((run.folder / CHECKPOINTS_FOLDER).glob("step-*"))[-1]
    (newest / "weights.safetensors").write_bytes(b"cut")
    said: list[str] = []
    assert_same(train_run(run.folder, device="cpu", notify=said.append), whole)
    assert "damaged" in said[0]
    assert "from step 2" in said[1]


def test_loss_that_is_no_number_stops_and_keeps_the_checkpoint(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(store)
    forward = Byol.forward
    calls = []

    def spoiled(self: Any, batch: Any) -> dict[str, torch.Tensor]:
        calls.append(1)
        terms = forward(self, batch)
        return terms | {"loss": terms["loss"] * float("nan")} if len(calls) == 5 else terms

    monkeypatch.setattr(Byol, "forward", spoiled)
    with pytest.raises(DeapsError, match="the loss is nan at step 5; the last checkpoint"):
        train_run(run.folder, device="cpu")
    assert all(torch.isfinite(value).all() for value in last_weights(run).values())


def test_a_gradient_that_is_no_number_is_named(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(store)
    forward = Byol.forward

    def spoiled(self: Any, batch: Any) -> dict[str, torch.Tensor]:
        terms = forward(self, batch)
        # Zero, with a slope of infinity: the loss itself stays finite.
        return terms | {"loss": terms["loss"] + (terms["loss"] - terms["loss"]).abs().sqrt()}

    monkeypatch.setattr(Byol, "forward", spoiled)
    with pytest.raises(DeapsError, match="the gradient is nan at step 1; the last checkpoint"):
        train_run(run.folder, device="cpu")


def test_a_step_that_spoils_the_weights_stops_before_they_are_kept(store: Path) -> None:
    run = make_run(store, learning_rate=1e30)
    with pytest.raises(DeapsError, match=r"the largest representation is .* at step 1; the"):
        train_run(run.folder, device="cpu")
    assert not list((run.folder / CHECKPOINTS_FOLDER).glob("step-*"))


def test_settings_and_snapshot_name_the_run(store: Path) -> None:
    one, other = make_run(store), make_run(store, seed=4)
    assert one.folder != other.folder
    assert make_run(store).folder == one.folder
    assert one.folder.name.startswith("byol-")


def test_run_keeps_the_index_it_started_from(store: Path) -> None:
    run = make_run(store)
    assert run.index.samefile(store / "index.duckdb")


def test_run_reads_windows_by_the_index_it_started_from(store: Path) -> None:
    run = make_run(store)
    (store / "index.duckdb").unlink()
    assert train_run(run.folder, device="cpu").finished


@pytest.mark.parametrize(("rank", "locks"), [(None, True), ("0", True), ("1", False)])
def test_the_first_process_alone_keeps_other_trainings_away(
    store: Path, monkeypatch: pytest.MonkeyPatch, rank: str | None, locks: bool
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    run = make_run(store)
    lock = mock.MagicMock()
    monkeypatch.setattr(deaps.train, "steps_lock", lock)
    train_run(run.folder, device="cpu")
    assert lock.call_args_list == ([mock.call(run.folder)] if locks else [])


@pytest.mark.parametrize(("precision", "scaled"), [("float16", True), ("bfloat16", False)])
def test_gradients_are_scaled_in_half_precision_alone(
    store: Path, precision: str, scaled: bool
) -> None:
    run = make_run(store, precision=precision)
    assert deaps.train.prepare(run, torch.device("cpu"), 0, 1).scaler.is_enabled() == scaled


def test_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match="no run at"):
        open_run(tmp_path)


def torchrun(run: Run, processes: int) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={processes}", "-m", "deaps.train", str(run.folder), "--device=cpu",
    ]  # fmt: skip
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_two_processes_learn_what_one_does(store: Path, tmp_path: Path) -> None:
    one = train_run(make_run(store, "deaps", iterations=3).folder, device="cpu")
    copied = Path(shutil.copytree(store, tmp_path / "copy", ignore=lambda *_: ["runs"]))
    two = make_run(copied, "deaps", iterations=3)
    done = torchrun(two, 2)
    assert done.returncode == 0, done.stderr
    for row, other in zip(curve(one), curve(two), strict=True):
        assert other["loss"] == pytest.approx(row["loss"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_killed_training_goes_on_bit_for_bit(store: Path, tmp_path: Path, processes: int) -> None:
    whole = make_run(store, "deaps", iterations=12, checkpoint_every=3)
    assert torchrun(whole, processes).returncode == 0
    copied = Path(shutil.copytree(store, tmp_path / "copy", ignore=lambda *_: ["runs"]))
    run = make_run(copied, "deaps", iterations=12, checkpoint_every=3)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={processes}", "-m", "deaps.train", str(run.folder), "--device=cpu",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(read_metrics(run.folder)) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not run.finished
    assert torchrun(run, processes).returncode == 0
    assert_same(run, whole)


@pytest.mark.parametrize(("given", "device"), [((), "auto"), (("--device", "cpu"), "cpu")])
def test_a_process_of_torchrun_trains_the_folder_it_is_given(
    monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], device: str
) -> None:
    """And a signal asks for the end: the next step is the last."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    calls: list[tuple[Path, dict[str, Any]]] = []
    stopped: list[bool] = []

    def train(folder: Path, **options: Any) -> None:
        calls.append((folder, options))
        for number in handlers:
            stopped.append(options["stop"]())
            signal.raise_signal(number)
        stopped.append(options["stop"]())

    monkeypatch.setattr(deaps.train, "train_run", train)
    monkeypatch.setattr(sys, "argv", ["train", "runs/some", *given])
    try:
        deaps.train.main()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    ((folder, options),) = calls
    assert (folder, options["device"]) == (Path("runs/some"), device)
    assert stopped == [False, True, True]


def test_help_of_the_training_process_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train", "--help"])
    with pytest.raises(SystemExit):
        deaps.train.main()
    assert "Train the run in a folder" in capsys.readouterr().out
