"""Workers, refresh, and what orchestration adds to the whole pipeline."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.orchestration import OTHERS, import_work
from tests.edf_files import beats, write_edf

SUBJECTS, HOURS = 12, 2.0
"""Most of them have two nights."""
RECORDINGS, MINUTES = 2000, 10


def measure(folder: Path) -> list[Figure]:
    """Return the figures of the operations half."""
    os.environ["PREFECT_HOME"] = str(folder / "prefect")
    return [two_workers(folder / "workers"), refresh(folder / "refresh"), *whole(folder / "whole")]


def two_workers(folder: Path) -> Figure:
    """Return how much faster two Dask workers are than one, both started beforehand."""
    from preprocessing.config import SynthSettings
    from preprocessing.synth import write_cohort

    nothing = dict.fromkeys(OTHERS, 0)
    settings = SynthSettings(shhs_subjects=SUBJECTS, shhs_hours=HOURS, **nothing)
    write_cohort(folder, settings, workers=2)
    one_s, two_s = (preprocessing_s(folder, workers) for workers in (1, 2))
    name = "preprocessing with two Dask workers, against one"
    seen = {"one_s": one_s, "two_s": two_s}
    return Figure(name, one_s / two_s, "times as fast", 1.8, None, seen=seen)


def preprocessing_s(folder: Path, workers: int) -> float:
    """Return the seconds from scan to published index with so many workers."""
    store = folder / f"store-{workers}"
    overrides = (f"data.shhs={folder}/shhs", f"store.root={store}", f"execution.workers={workers}")
    return flow_seconds(*overrides)


def flow_seconds(*overrides: str) -> float:
    """Return the seconds of the stage inside a flow, start-up not counted."""
    from prefect import flow

    from flows.config import load_settings
    from flows.ingest.refresh import refresh_store
    from flows.runtime.dask_pool import worker_pool

    settings = load_settings(overrides=overrides)

    @flow(name="bench-operations")
    def timed() -> float:
        with worker_pool(settings.execution) as client:
            client.run(import_work)
            started = time.perf_counter()
            refresh_store(settings, client=client)
            return time.perf_counter() - started

    return timed()


def refresh(folder: Path) -> Figure:
    """Return a refresh after one file changed as a share of the first, of all."""
    write_recordings(folder / "data")
    overrides = (f"data.shhs={folder}/data", f"store.root={folder}/store")
    time.sleep(2.5)  # so that no file counts as just written
    all_s = flow_seconds(*overrides)
    changed = sorted((folder / "data").rglob("*.edf"))[0]
    content = bytearray(changed.read_bytes())
    content[-2] ^= 1
    changed.write_bytes(content)
    one_s = flow_seconds(*overrides)
    name = f"refresh after one of {RECORDINGS:,} recordings changed, against all"
    seen = {"all_s": all_s, "one_s": one_s}
    return Figure(name, 100 * one_s / all_s, "%", 5, None, higher=False, seen=seen)


def write_recordings(root: Path) -> None:
    """Write 2,000 different EDFs of 10 minutes by changing the samples of one."""
    template = write_edf(root / "template.edf", {"ECG": beats(60 * MINUTES)}).read_bytes()
    (root / "template.edf").unlink()
    for k in range(RECORDINGS):
        visit, subject = k % 2 + 1, 200001 + k // 2
        path = root / f"polysomnography/edfs/shhs{visit}/shhs{visit}-{subject}.edf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(template[:-4] + k.to_bytes(4, "little"))


def whole(folder: Path) -> list[Figure]:
    """Return the demo's time, what a second run takes of it, and what Prefect adds to it."""
    folder.mkdir(parents=True)
    deaps = str(Path(sys.executable).with_name("deaps"))
    synth_s = command_seconds(folder, [deaps, "synth", "--preset", "demo"])
    direct_s = command_seconds(folder, [sys.executable, "-m", "tests.bench.bare_pipeline"])
    (folder / "demo-store").rename(folder / "bare-store")
    flow_s = command_seconds(folder, [deaps, "run", "--preset", "demo"])
    again_s = command_seconds(folder, [deaps, "run", "--preset", "demo"])
    share = max(0.0, 100 * (flow_s - direct_s) / direct_s)
    name = "the demo's pipeline through Prefect, longer than its bare stages by"
    seen = {"flow_s": flow_s, "direct_s": direct_s}
    added = Figure(name, share, "%", max(15.0, 3000 / direct_s), None, higher=False, seen=seen)
    name = "second `deaps run --preset demo`, against the first"
    seen = {"first_s": flow_s, "second_s": again_s}
    again = Figure(name, 100 * again_s / flow_s, "%", 5, None, higher=False, seen=seen)
    name = "`make demo`: cohort, six methods, every benchmark, report"
    seen = {"synth_s": synth_s, "run_s": flow_s}
    demo = Figure(name, (synth_s + flow_s) / 60, "minutes", 8, None, higher=False, seen=seen)
    return [demo, again, added]


def command_seconds(folder: Path, command: list[str]) -> float:
    """Return the seconds of a command in ``folder``."""
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PREFECT_HOME": str(folder / "prefect"), "PYTHONPATH": root}
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
