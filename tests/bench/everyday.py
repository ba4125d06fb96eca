"""What a researcher does every day: a folder of one's own, a question, a night's embedding."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.bench.figure import Figure
from tests.bench.made_rows import narrow_recordings
from tests.conftest import real_folder
from tests.edf_files import beats, write_edf
from tests.storage.made_store import publish_rows
from tests.user_folder import write_user_folder

DEAPS = str(Path(sys.executable).with_name("deaps"))
INSTALLATION = ("make venv",)
OWN_FOLDER = ("init recordings", "preprocess", "embed folder")
DEMO_RECORDINGS, DEMO_WINDOWS = 235, 62
"""As many recordings, and windows in all, as the demo's index has."""

HOURS, FS = 8, 125
ROUNDS = 5
FIXED_S = 5.0
"""What a command may take beside its work."""

FORWARD = """
import json, sys, time
import numpy as np
import deaps
from deaps.embed import embed_windows
encoder = deaps.load_encoder()
windows = np.random.default_rng(0).standard_normal((int(sys.argv[1]), 1000), np.float32)
embed_windows(encoder, windows[:256])
started = time.perf_counter()
embed_windows(encoder, windows)
print(time.perf_counter() - started)
"""


def measure(folder: Path) -> list[Figure]:
    """Return the figures of everyday use; that of the own folder needs real recordings."""
    real = real_folder("afpdb")
    own = [new_user(folder / "own", real.parent)] if real else []
    return [*own, query(folder / "query"), embed(folder / "embed")]


def new_user(folder: Path, real: Path) -> Figure:
    """Return the commands from a clone to the embeddings of ten real records with a messy table."""
    write_user_folder(folder / "recordings", real)
    table = (folder / "recordings/subjects.csv").read_bytes()
    started = time.perf_counter()
    for command in OWN_FOLDER:
        run(folder, *command.split())
    seconds = time.perf_counter() - started
    rows = pq.read_table(folder / "folder.embeddings.parquet").to_pydict()
    people = set(zip(rows["recording"], rows["subject"], rows["visit"], strict=True))
    if len(people) != 10 or not all(subject.startswith("P-0") for _, subject, _ in people):
        raise RuntimeError(f"not every recording has its row of the table: {sorted(people)}")
    if (folder / "recordings/subjects.csv").read_bytes() != table:
        raise RuntimeError("the table was changed")
    name = "own folder of 10 real records, three formats, messy table: commands to embeddings"
    commands = [*INSTALLATION, *OWN_FOLDER]
    seen = {"commands": commands, "edits": 0, "seconds_after_installation": seconds}
    return Figure(name, len(commands), "commands", 4, None, higher=False, seen=seen)


def query(folder: Path) -> Figure:
    """Return the seconds of a question to an index of the demo's size, the whole command."""
    publish_rows(
        folder / "store", narrow_recordings(folder / "store", DEMO_RECORDINGS, DEMO_WINDOWS)
    )
    seconds = [timed(folder, "query", "FROM quality_by_dataset") for _ in range(ROUNDS)]
    name = "`deaps query` on an index of the demo's size, whole command"
    return Figure(name, min(seconds), "s", 1, None, higher=False, seen={"seconds": seconds})


def embed(folder: Path) -> Figure:
    """Return the time of embedding a night of 8 h beyond 5 s, against the bare forward pass."""
    night = np.concatenate([beats(3600, FS, rate=55 + hour, seed=hour) for hour in range(HOURS)])
    write_edf(folder / "night.edf", {"EEG": np.zeros_like(night), "ECG": night}, fs=FS)
    seconds = [timed(folder, "embed", "night.edf") for _ in range(2)]
    n_windows = pq.read_metadata(folder / "night.embeddings.parquet").num_rows
    bare = [forward_s(n_windows) for _ in range(2)]
    whole_s, bare_s = min(seconds), min(bare)
    name = "`deaps embed` of an 8 h EDF beyond 5 s, against the bare forward pass"
    seen = {"whole_s": seconds, "bare_s": bare, "windows": n_windows}
    value = max(0.0, whole_s - FIXED_S) / bare_s
    return Figure(name, value, "times as long", 2, None, higher=False, seen=seen)


def forward_s(n_windows: int) -> float:
    """Return the seconds of the shipped encoder on so many windows, in a process of its own."""
    command = [sys.executable, "-c", FORWARD, str(n_windows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def timed(folder: Path, *arguments: str) -> float:
    """Return the seconds of one command."""
    started = time.perf_counter()
    run(folder, *arguments)
    return time.perf_counter() - started


def run(folder: Path, *arguments: str) -> None:
    """Run one command in ``folder``."""
    env = {**os.environ, "PREFECT_HOME": str(folder / "prefect")}
    subprocess.run([DEAPS, *arguments], cwd=folder, env=env, check=True, capture_output=True)
