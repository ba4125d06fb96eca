"""train, embed and export on the command line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from typer.testing import CliRunner, Result

from deaps import Encoder
from deaps.embed import embed_windows
from deaps.embedding_file import read_about
from deaps.models.encoder_file import SHIPPED
from deaps.train import train_run
from deaps.training.device import autocast_type, available_devices, choose_device
from deaps.training.metrics import read_metrics
from deaps.training.run_folder import create_run, open_run
from flows import launch
from flows.cli import app
from flows.config import load_settings
from flows.experiment.plan import training_plan
from flows.monitoring.status import last_events
from preprocessing.chain import process
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.datasets.folder import read_file
from storage.errors import DeapsError
from storage.files import file_sha256
from storage.snapshot import IndexVersionError
from storage.window_store import WindowStore
from tests.deaps.models.made_encoder import put_into_hub_cache, write_encoder
from tests.deaps.training.training_store import make_run, make_training_store
from tests.edf_files import beats, write_edf
from tests.flows.prefect_processes import wait_for

DEAPS = Path(sys.executable).with_name("deaps")
FEW_STEPS = [
    "training.iterations=2", "training.tfc_iterations=2", "training.batch=4",
    "training.metrics_every=1", "training.checkpoint_every=1", "training.evolution_every=1",
    "training.precision=float32",
]  # fmt: skip


def deaps(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    path = tmp_path / "encoder.safetensors"
    write_encoder(path, Encoder())
    return path


def test_unknown_method_lists_the_known() -> None:
    result = deaps("train", "--method", "simclr")
    assert result.exit_code == 2
    assert "possible: deaps, byol, pclr, clocs, mixing-up, tf-c" in result.output


def test_embed_writes_one_row_for_each_window_of_a_file(tmp_path: Path, encoder: Path) -> None:
    signal = beats(45)
    signal[2500:3750] = 0.5
    edf = write_edf(tmp_path / "my.edf", {"ECG": signal})
    out = tmp_path / "out.parquet"
    result = deaps("embed", str(edf), "--encoder", str(encoder), "--out", str(out))
    assert result.exit_code == 0, result.output
    table = pq.read_table(out)
    assert table["row"].to_pylist() == [0, 1, 3]
    assert np.stack(table["embedding"].to_numpy()).shape == (3, 128)


def test_embed_uses_the_shipped_encoder_by_default(tmp_path: Path) -> None:
    edf = write_edf(tmp_path / "my.edf", {"ECG": beats(45)})
    out = tmp_path / "out.parquet"
    result = deaps("embed", str(edf), "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "4 windows" in result.output
    assert np.isfinite(np.stack(pq.read_table(out)["embedding"].to_numpy())).all()


def test_embed_normalises_as_the_encoder_was_trained(tmp_path: Path) -> None:
    edf = write_edf(tmp_path / "my.edf", {"ECG": beats(30) * np.linspace(1, 9, 30 * 125)})
    torch.manual_seed(0)
    module = Encoder()
    found = {}
    for normalise in ("recording", "window"):
        write_encoder(tmp_path / "e.safetensors", module, normalise=normalise)
        out = tmp_path / f"{normalise}.parquet"
        given = ("--encoder", str(tmp_path / "e.safetensors"), "--out", str(out))
        assert deaps("embed", str(edf), *given).exit_code == 0
        found[normalise] = np.stack(pq.read_table(out)["embedding"].to_numpy())
    raw = read_file(edf, SignalSettings().channels)
    processed = process(raw, signal=SignalSettings(), quality=QualitySettings())
    windows = processed.windows.astype(np.float32)
    np.testing.assert_allclose(found["recording"], embed_windows(module, windows), atol=1e-5)
    windows -= windows.mean(axis=1, keepdims=True)
    windows /= windows.std(axis=1, keepdims=True)
    np.testing.assert_allclose(found["window"], embed_windows(module, windows), atol=1e-5)


def test_embed_takes_an_encoder_of_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_into_hub_cache(tmp_path / "cache", monkeypatch)
    edf = write_edf(tmp_path / "my.edf", {"ECG": beats(30)})
    out = tmp_path / "out.parquet"
    result = deaps("embed", str(edf), "--encoder", "hf://lab/ecg@main", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert set(pq.read_table(out)["encoder"].to_pylist()) == {"hf://lab/ecg@main"}
    assert read_about(out)["encoder_sha256"] == file_sha256(SHIPPED / "model.safetensors")


def test_export_takes_an_encoder_of_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_into_hub_cache(tmp_path / "cache", monkeypatch)
    result = deaps("export", str(tmp_path / "mine"), "--encoder", "hf://lab/ecg")
    assert result.exit_code == 0, result.output
    expected = file_sha256(SHIPPED / "model.safetensors")
    assert file_sha256(tmp_path / "mine" / "model.safetensors") == expected


def test_an_encoder_that_the_hub_does_not_have_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into_hub_cache(tmp_path / "cache", monkeypatch)
    for command in (["embed", str(tmp_path)], ["export", str(tmp_path / "mine")]):
        result = deaps(*command, "--encoder", "hf://lab/other")
        assert result.exit_code == 2
        assert "hf://lab/other: the hub did not give" in " ".join(result.output.split())


def test_embed_of_a_file_refuses_an_encoder_of_windows_normalised_by_data_set(
    tmp_path: Path,
) -> None:
    edf = write_edf(tmp_path / "my.edf", {"ECG": beats(30)})
    encoder = write_encoder(tmp_path / "e.safetensors", Encoder(), normalise="dataset")
    out = tmp_path / "out.parquet"
    result = deaps("embed", str(edf), "--encoder", str(encoder), "--out", str(out))
    assert result.exit_code == 2
    assert "expects windows normalised by their data set" in " ".join(result.output.split())
    assert not out.exists()


def test_embed_without_a_file_or_data_set_says_so(encoder: Path) -> None:
    result = deaps("embed", "nothing.edf", "--encoder", str(encoder))
    assert result.exit_code == 2
    assert "neither a file nor one of afdb, afpdb" in result.output


def test_embed_with_a_pickle_is_refused(tmp_path: Path) -> None:
    edf = write_edf(tmp_path / "my.edf", {"ECG": beats(20)})
    torch.save(Encoder().state_dict(), tmp_path / "evil.pt")
    result = deaps("embed", str(edf), "--encoder", str(tmp_path / "evil.pt"))
    assert result.exit_code == 2
    assert "not a safetensors file" in result.output


def test_export_writes_onnx(tmp_path: Path, encoder: Path) -> None:
    result = deaps("export", str(tmp_path / "e.onnx"), "--encoder", str(encoder))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "e.onnx").stat().st_size > 4_000_000


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_train_leaves_a_run_in_the_index(tmp_path: Path, processes: int) -> None:
    make_training_store(tmp_path / "store", subjects=4, synthetic=True)
    wanted = [*FEW_STEPS, f"execution.processes_per_node={processes}"]
    sets = [argument for setting in wanted for argument in ("--set", setting)]
    done = subprocess.run(
        [DEAPS, "train", "--method", "byol", *sets],
        cwd=tmp_path,
        env={**os.environ, "PREFECT_HOME": str(tmp_path / "prefect")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        (run,) = index.execute(
            "SELECT method, iterations, snapshot = snapshot_id, synthetic FROM runs, snapshot"
        ).fetchall()
    assert run == ("byol", 2, True, True)
    assert done.stdout.endswith("synthetic data, no person was recorded\n")
    (record,) = (tmp_path / "store/runs").glob("*/run.json")
    assert json.loads(record.read_text())["processes"] == processes


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute with one thread, as a training beside others does: sums depend on it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def train_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    sets = [argument for setting in FEW_STEPS for argument in ("--set", setting)]
    return subprocess.run(
        [DEAPS, "train", *sets, *arguments],
        cwd=folder,
        env={**os.environ, "PREFECT_HOME": str(folder / "prefect")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_trainings_side_by_side_are_those_one_after_the_other(
    tmp_path: Path, one_thread: None
) -> None:
    make_training_store(tmp_path / "store", subjects=4)
    beside = ("--method", "byol", "--method", "pclr", "--set", "execution.trainings_at_once=2")
    done = train_in(tmp_path, *beside)
    assert done.returncode == 0, done.stderr
    runs = sorted((tmp_path / "store/runs").iterdir())
    assert [run.name.split("-")[0] for run in runs] == ["byol", "pclr"]
    for run in runs:
        alone = make_training_store(tmp_path / run.name, subjects=4)
        plan = open_run(run).plan
        train_run(create_run(alone, plan).folder, device="cpu")
        (expected,) = (alone / "runs").glob("*/encoders/step-00000002.safetensors")
        assert (run / "encoders/step-00000002.safetensors").read_bytes() == expected.read_bytes()


@pytest.mark.slow
def test_a_training_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    make_training_store(tmp_path / "store", subjects=4)
    failing = 'experiment.tuned.byol=["training.learning_rate=1e30", "training.iterations=9"]'
    beside = ("--method", "byol", "--method", "pclr", "--set", "execution.trainings_at_once=2")
    done = train_in(tmp_path, *beside, "--set", failing)
    assert done.returncode == 2, done.stderr
    assert "Lower training.learning_rate" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    finished = [path.parent.name for path in (tmp_path / "store/runs").glob("*/run.json")]
    assert [name.split("-")[0] for name in finished] == ["pclr"]


def test_plan_of_the_paper_has_the_papers_numbers() -> None:
    plan = training_plan(load_settings(preset="paper"), "deaps")
    training = plan.training
    assert (training.batch, plan.iterations, training.learning_rate) == (256, 30_000, 3e-4)
    assert training.weight_decay == 1.5e-6
    assert (plan.model.deaps.tau, plan.model.deaps.features) == (0.995, 32)
    assert plan.sampling.triplet_span_s == 120
    assert training_plan(load_settings(preset="paper"), "tf-c").iterations == 75_000


def test_device_that_is_absent_is_refused() -> None:
    absent = next(name for name in ("cuda", "mps") if name not in available_devices())
    with pytest.raises(DeapsError, match=r"possible: .*cpu"):
        choose_device(absent)


def test_cpu_trains_in_single_precision_unless_told() -> None:
    assert autocast_type(torch.device("cpu"), "auto") is None
    assert autocast_type(torch.device("cpu"), "bfloat16") is torch.bfloat16


def test_window_files_that_are_gone_are_named(tmp_path: Path) -> None:
    store = make_training_store(tmp_path / "store", subjects=4)
    run = make_run(store)
    for file in (store / "windows").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(Exception, match="deaps doctor"):
        train_run(run.folder, device="cpu")


def test_index_of_another_version_is_refused(tmp_path: Path) -> None:
    store = make_training_store(tmp_path / "store", subjects=2)
    index = store / "index.duckdb"
    index.chmod(0o644)
    with duckdb.connect(index) as connection:
        connection.execute("UPDATE snapshot SET schema_version = 99")
    (store / "index.duckdb.sha256").unlink()  # as that version has published it
    with pytest.raises(IndexVersionError, match="schema version 99"):
        WindowStore(store)
    with pytest.raises(IndexVersionError, match="schema version 99"):
        make_run(store)


def test_disk_full_while_a_checkpoint_is_written_keeps_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(make_training_store(tmp_path / "store", subjects=4))
    calls = []

    def save(state: object, path: Path) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        original(state, path)

    original = torch.save
    monkeypatch.setattr(torch, "save", save)
    with pytest.raises(OSError, match="No space left"):
        train_run(run.folder, device="cpu")
    said: list[str] = []
    finished = train_run(run.folder, device="cpu", notify=said.append)
    assert finished.finished
    assert "going on from step 2" in said[-1]


@contextlib.contextmanager
def started_training(folder: Path, *wanted: str) -> Iterator[subprocess.Popen[str]]:
    """Start a training by the command, with these settings; in the end nothing of it is left."""
    sets = [argument for setting in wanted for argument in ("--set", setting)]
    with subprocess.Popen(
        [DEAPS, "train", "--method", "byol", *sets],
        cwd=folder,
        env={**os.environ, "PREFECT_HOME": str(folder / "prefect")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background inherit a SIGINT that is ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_training_says_from_which_step_it_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    make_training_store(tmp_path / "store", subjects=4)
    wanted = [*FEW_STEPS, "training.iterations=5000", "training.checkpoint_every=5000"]
    runs = tmp_path / "store/runs"
    with started_training(tmp_path, *wanted) as process:
        wait_for(lambda: any(len(read_metrics(path)) > 2 for path in runs.glob("*")))
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "deaps: stopping after this step" in said
    assert re.search(r"stopped at step \d+ of 5,000; the same command goes on from step \d+", said)
    assert "Traceback" not in said
    assert len(list(tmp_path.glob("store/runs/*/checkpoints/step-*"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["trainings_at_once", "processes_per_node"])
def test_a_training_that_outlives_its_killed_command_is_not_trained_twice(
    tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_training_store(tmp_path / "store", subjects=4)
    rare = [
        "training.iterations=600",
        "training.checkpoint_every=10",
        "training.evolution_every=600",
    ]
    with started_training(tmp_path, *FEW_STEPS, *rare, f"execution.{way}=2") as first:
        wait_for(lambda: list(tmp_path.glob("store/runs/*/checkpoints/step-*")))
        first.kill()
        first.wait()
        (folder,) = (tmp_path / "store/runs").iterdir()
        settings = load_settings(overrides=[f"store.root={tmp_path}/store", f"execution.{way}=2"])
        launch.train_run(open_run(folder), settings)
    said = capsys.readouterr().err
    assert f"another run is working on {folder}; waiting for it to end" in said
    assert [row["step"] for row in read_metrics(folder)] == list(range(1, 601))
    wanted = "stage started"
    events = last_events(tmp_path / "store", lambda event: event["event"] == wanted, most=2)
    assert len(events) == 1  # the first one went on to its end
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        assert index.execute("SELECT run FROM runs").fetchall() == [(folder.name,)]
