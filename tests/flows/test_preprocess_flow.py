"""The preprocessing stage as a user runs it: Dask workers, kills, a server that is not there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import psutil
import pytest

from flows.config import ExecutionSettings
from flows.ingest.recording import Job
from flows.ingest.refresh import RecordingBatch, is_small, make_batches, make_chunks, refresh_store
from flows.ingest.scan import scan
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.datasets import DATASETS
from preprocessing.recording import FoundRecording
from storage.schema import SourceRole
from tests.edf_files import beats, patch, write_edf
from tests.flows.inline import settings_for

DEAPS = Path(sys.executable).with_name("deaps")
NOT_SMALL = ("--set", "execution.chunk_megabytes=0.001")
"""Makes several chunks of any work, which then goes to workers, in a flow."""

IMPORTED = """
import sys
from flows.cli import app
app(sys.argv[1:], standalone_mode=False)
print("imported:", sorted({"prefect", "distributed", "torch"} & set(sys.modules)))
"""


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Share one Prefect home: making its database takes most of an embedded start."""
    return tmp_path_factory.getbasetemp() / "prefect"


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "PREFECT_HOME": str(home)}


def deaps(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DEAPS, *arguments],
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def cohort(folder: Path, n: int, seconds: float = 40) -> Path:
    for k in range(n):
        path = folder / f"polysomnography/edfs/shhs1/shhs1-{200001 + k}.edf"
        write_edf(path, {"ECG": beats(seconds, seed=k)})
        os.utime(path, (1e9, 1e9))  # at rest, so that it counts as unchanged
    return folder


def found(name: str) -> FoundRecording:
    return FoundRecording("shhs", name, name, 1, ((f"{name}.edf", SourceRole.SIGNAL),))


def job(root: Path) -> Job:
    return Job(DATASETS["shhs"], root, root / "store", SignalSettings(), QualitySettings())


def test_number_of_tasks_is_bounded(tmp_path: Path) -> None:
    todo = [(job(tmp_path), found(f"r{k}")) for k in range(8444)]
    batches = list(make_batches(todo, ExecutionSettings().batch_recordings))
    assert len(batches) == 132
    assert sum(len(batch.recordings) for batch in batches) == 8444


def test_small_recordings_share_a_chunk_and_large_ones_do_not(tmp_path: Path) -> None:
    sizes = {"a": 10, "b": 10, "c": 100, "d": 10, "gone": 0}
    for name, size in sizes.items():
        (tmp_path / f"{name}.edf").write_bytes(b"x" * size)
    (tmp_path / "gone.edf").unlink()
    batch = RecordingBatch(job(tmp_path), [found(name) for name in sizes])
    chunks = [[r.name for r in chunk] for chunk in make_chunks(batch, 50)]
    assert chunks == [["a", "b"], ["c"], ["d", "gone"]]


def test_flow_publishes_and_reports(tmp_path: Path, prefect_home: Path) -> None:
    cohort(tmp_path / "shhs", 6)
    bad = tmp_path / "shhs/polysomnography/edfs/shhs1/shhs1-200003.edf"
    patch(bad, slice(0, 8), "RIFFWAVE")
    os.utime(bad, (1e9, 1e9))
    arguments = ("preprocess", "--set", "data.shhs=shhs", *NOT_SMALL)
    done = deaps(tmp_path, prefect_home, *arguments)
    assert done.returncode == 0, done.stderr
    steps = r"start `deaps serve` first\n(.*\n)*starting \d+ worker"
    assert re.search(steps, done.stderr)
    assert "not an EDF file" in done.stdout
    assert "shhs1-200003" in done.stdout
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        assert index.execute("SELECT count(*) FROM windows").fetchone() == (20,)
    again = deaps(tmp_path, prefect_home, "preprocess", "--set", "data.shhs=shhs", "--strict")
    assert again.returncode == 1
    assert "nothing to do" in again.stdout


def test_small_work_needs_neither_prefect_nor_workers(tmp_path: Path, prefect_home: Path) -> None:
    cohort(tmp_path / "shhs", 2)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, "preprocess", "--set", "data.shhs=shhs"],
        cwd=tmp_path, env=environment(prefect_home), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "imported: []" in done.stdout
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        assert index.execute("SELECT count(*) FROM windows").fetchone() == (8,)


def test_workers_take_over_where_a_process_died_in_small_work(tmp_path: Path) -> None:
    cohort(tmp_path / "shhs", 2)
    settings = settings_for(tmp_path / "store", shhs=tmp_path / "shhs")
    todo = scan(settings).todo()
    assert is_small(settings, todo)
    (tmp_path / "store").mkdir()
    (tmp_path / "store/.in-process").touch()  # as a kill leaves it
    assert not is_small(settings, todo)


def test_small_work_leaves_no_mark(tmp_path: Path) -> None:
    cohort(tmp_path / "shhs", 2)
    settings = settings_for(tmp_path / "store", shhs=tmp_path / "shhs")
    assert refresh_store(settings).n_recordings == 2
    assert not (tmp_path / "store/.in-process").exists()


@pytest.mark.slow
def test_killed_run_is_finished_by_the_next(tmp_path: Path, prefect_home: Path) -> None:
    cohort(tmp_path / "shhs", 60, seconds=1800)
    arguments = ["preprocess", "--set", "data.shhs=shhs", "--set", "execution.chunk_megabytes=0.1"]
    process = subprocess.Popen(
        [DEAPS, *arguments],
        cwd=tmp_path,
        env=environment(prefect_home),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: len(window_files(tmp_path)) > 10)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    written = window_files(tmp_path)
    assert not (tmp_path / "store/index.duckdb").exists()
    assert len(written) < 60
    done = deaps(tmp_path, prefect_home, *arguments)
    assert done.returncode == 0, done.stderr
    after = window_files(tmp_path)
    assert len(after) == 60
    assert {path: after[path] for path in written} == written


@pytest.mark.slow
def test_killed_worker_loses_nothing(tmp_path: Path, prefect_home: Path) -> None:
    cohort(tmp_path / "shhs", 60, seconds=1800)
    process = subprocess.Popen(
        [DEAPS, "preprocess", "--set", "data.shhs=shhs", "--set", "execution.chunk_megabytes=0.1"],
        cwd=tmp_path,
        env=environment(prefect_home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: len(window_files(tmp_path)) > 5)
    workers(process.pid)[0].kill()
    assert process.wait(timeout=300) == 0
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        counts = index.execute("SELECT status, count(*) FROM recordings GROUP BY ALL").fetchall()
    assert counts == [("ok", 60)]


def window_files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("store/windows/**/*.parquet")}


def workers(pid: int) -> list[psutil.Process]:
    """Return the Dask workers below a process: children of its nannies that use memory.

    Where setproctitle is installed, Dask names them.
    """
    family = psutil.Process(pid).children(recursive=True)
    commands = {p: " ".join(p.cmdline()) for p in family}
    names = ("multiprocessing.spawn", "dask worker")
    spawned = [p for p, command in commands.items() if any(name in command for name in names)]
    return sorted(spawned, key=lambda p: p.memory_info().rss, reverse=True)


def wait_for(condition: object, timeout: float = 180) -> None:
    deadline = time.monotonic() + timeout
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


@pytest.mark.slow
def test_two_runs_at_once_lose_nothing(tmp_path: Path, prefect_home: Path) -> None:
    cohort(tmp_path / "shhs", 4)
    for seed in range(3):
        write_edf(tmp_path / "own" / f"{seed}.edf", {"ECG": beats(30, seed=100 + seed)})
    processes = [
        subprocess.Popen(
            [DEAPS, "preprocess", "--set", f"data.{name}={folder}"],
            cwd=tmp_path,
            env=environment(prefect_home / name),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, folder in (("shhs", "shhs"), ("folder", "own"))
    ]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        counts = index.execute("SELECT dataset, count(*) FROM recordings GROUP BY ALL ORDER BY ALL")
        assert counts.fetchall() == [("folder", 3), ("shhs", 4)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_stops_at_once_with_one_line(
    tmp_path: Path, prefect_home: Path, number: signal.Signals
) -> None:
    cohort(tmp_path / "shhs", 60, seconds=1800)
    process = subprocess.Popen(
        [DEAPS, "preprocess", "--set", "data.shhs=shhs", "--set", "execution.chunk_megabytes=0.1"],
        cwd=tmp_path,
        env=environment(prefect_home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(window_files(tmp_path)) > 5)
    started = time.monotonic()
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - started < 10
    assert "deaps: stopped; what was done is kept" in errors
    assert "Traceback" not in errors
