"""What orchestration costs: small work by hand, a server with workers of two pools."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from tests.bench.figure import Figure
from tests.edf_files import beats, write_edf
from tests.flows.lab import Lab, lab
from tests.flows.prefect_processes import wait_for
from tests.flows.tiny_project import CONFIG, environment

RECORDINGS, MINUTES, TIMES = 200, 10, 5
PATIENCE_S = 3000
ITERATIONS = 1200
"""Over a minute of one thread for each of two trainings."""
LONG = (
    CONFIG.replace("iterations = 2", f"iterations = {ITERATIONS}")
    .replace("checkpoint_every = 2", "checkpoint_every = 100")
    .replace("evolution_every = 2", f"evolution_every = {ITERATIONS}")
    .replace("metrics_every = 1", "metrics_every = 10")
    .replace('["byol"]', '["byol", "pclr"]')
)
DIRECTLY = """
from tests.flows.inline import run, settings_for
from pathlib import Path
run(settings_for(Path("direct"), folder=Path("data")))
"""


def measure(folder: Path) -> list[Figure]:
    """Return what small work costs by hand, and what a server with workers does."""
    return [
        by_hand(folder / "by-hand"),
        *with_workers(folder / "lab"),
        orchestration_share(folder / "demo"),
    ]


def by_hand(folder: Path) -> Figure:
    """Return the whole command after one of 200 recordings changed, against its work alone."""
    write_recordings(folder / "data")
    deaps = str(Path(sys.executable).with_name("deaps"))
    command = [deaps, "preprocess", "--set=data.folder=data", "--set=store.root=by-command"]
    directly = [sys.executable, "-c", DIRECTLY]
    time.sleep(2.5)  # so that no file counts as just written
    seconds(folder, command)
    seconds(folder, directly)
    times: dict[str, list[float]] = {"command": [], "direct": []}
    for _ in range(TIMES):
        change_one(folder / "data")
        time.sleep(2.5)
        times["command"].append(seconds(folder, command))
        times["direct"].append(seconds(folder, directly))
    command_s, direct_s = (statistics.median(times[name]) for name in ("command", "direct"))
    name = f"`deaps preprocess` after one of {RECORDINGS} recordings changed, against its work"
    bars = 1.5 + 3 / direct_s, 1.2 + 1 / direct_s
    seen = {"command_s": command_s, "direct_s": direct_s, "all": times, "load": os.getloadavg()[0]}
    return Figure(name, command_s / direct_s, "times as long", *bars, higher=False, seen=seen)


def write_recordings(root: Path) -> None:
    """Write different EDFs by changing the samples of one."""
    template = write_edf(root / "template.edf", {"ECG": beats(60 * MINUTES)}).read_bytes()
    (root / "template.edf").unlink()
    for k in range(RECORDINGS):
        (root / f"{k:03d}.edf").write_bytes(template[:-4] + k.to_bytes(4, "little"))


def change_one(root: Path) -> None:
    """Change a sample of the first recording."""
    path = min(root.glob("*.edf"))
    content = bytearray(path.read_bytes())
    content[-6] = (content[-6] + 1) % 256
    path.write_bytes(content)


def seconds(folder: Path, command: list[str]) -> float:
    """Return the seconds of a command in a fresh process."""
    env = environment(PYTHONPATH=str(Path(__file__).parents[2]))
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    return time.perf_counter() - started


def with_workers(folder: Path) -> list[Figure]:
    """Return how two GPU workers compare with one, and what a second run takes."""
    folder.mkdir(parents=True)
    with lab(folder) as it, it.worker("cpu"):
        (it.folder / "deaps.toml").write_text(LONG)
        one_s = training_stage_s(it, 1)
        two_s = training_stage_s(it, 2)
        again_s = statistics.median(full_s(it) for _ in range(3))
    load = os.getloadavg()[0]
    name = "training stage of `full`, two workers of the pool gpu, against one"
    seen = {"one_s": one_s, "two_s": two_s, "load": load}
    two = Figure(name, one_s / two_s, "times as fast", 1.6, 1.8, seen=seen)
    name = "second `full` with nothing changed, submit to Completed"
    seen = {"load": load}
    return [two, Figure(name, again_s, "s", 10, 7, higher=False, seen=seen)]


def orchestration_share(folder: Path) -> Figure:
    """Return how much longer the demo's `full` takes than its bare stages, one after the other.

    The server and the worker run already; training is in the process of `full`. The bare stages
    run before and after it: a shared machine's speed drifts by more than the share.
    """
    folder.mkdir(parents=True)
    with lab(folder) as it:
        deaps = str(Path(sys.executable).with_name("deaps"))
        seconds(it.folder, [deaps, "synth", "--preset", "demo"])
        before_s = bare_stages_s(it.folder)
        with it.worker("cpu"):
            wait_for(lambda: it.online("cpu"))
            run = it.ended(it.start("deaps-pipeline/full", "preset=demo"), PATIENCE_S)
        assert run["state_type"] == "COMPLETED", run["state"]
        shutil.rmtree(it.folder / "demo-store")
        after_s = bare_stages_s(it.folder)
    pipeline_s = run["total_run_time"]
    share = 100 * (2 * pipeline_s / (before_s + after_s) - 1)
    name = "the demo's `full` on a server, longer than its bare stages by"
    seen = {"full_s": pipeline_s, "bare_s": [before_s, after_s], "load": os.getloadavg()[0]}
    return Figure(name, share, "%", 10, 5, higher=False, seen=seen)


def bare_stages_s(folder: Path) -> float:
    """Return the seconds of the demo's stages without Prefect; the store does not stay."""
    taken = seconds(folder, [sys.executable, "-m", "tests.bench.bare_pipeline"])
    shutil.rmtree(folder / "demo-store")
    return taken


def training_stage_s(it: Lab, workers: int) -> float:
    """Return the seconds from the submission of two trainings to the end of both."""
    shutil.rmtree(it.folder / "store", ignore_errors=True)
    wait_for(lambda: not it.online("gpu"))
    with ExitStack() as stack:
        for k in range(workers):
            stack.enter_context(it.worker("gpu", f"gpu-{workers}-{k}", OMP_NUM_THREADS="1"))
        wait_for(lambda: len(it.online("gpu")) == workers)
        started = time.time()
        full_s(it)
    runs = [
        run
        for run in it.api.find("flow_runs")
        if run["name"].startswith("train ") and _at(run["created"]) >= started
    ]
    return max(_at(run["end_time"]) for run in runs) - min(_at(run["created"]) for run in runs)


def full_s(it: Lab) -> float:
    """Return the seconds of a `full` from its submission to Completed."""
    run = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
    assert run["state_type"] == "COMPLETED", run["state"]
    return _at(run["end_time"]) - _at(run["created"])


def _at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
