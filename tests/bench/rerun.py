"""A second run on an unchanged cohort of SHHS's size, in tiny files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figure import Figure
from tests.edf_files import beats, write_edf

FILES = 8444


def measure(folder: Path) -> list[Figure]:
    """Return the second run's time as a share of the first's, both by the command line."""
    write_tiny_cohort(folder / "shhs")
    first_s, second_s = preprocess(folder), preprocess(folder)
    seen = {"first_s": first_s, "second_s": second_s}
    name = "second deaps preprocess on 8,444 unchanged files, against the first"
    return [Figure(name, 100 * second_s / first_s, "%", 2, 0.5, higher=False, seen=seen)]


def write_tiny_cohort(root: Path) -> None:
    """Write 8,444 different EDFs of 20 s by changing the samples of one."""
    template = write_edf(root / "template.edf", {"ECG": beats(20)}).read_bytes()
    (root / "template.edf").unlink()
    for k in range(FILES):
        visit, subject = k % 2 + 1, 200001 + k // 2
        path = root / f"polysomnography/edfs/shhs{visit}/shhs{visit}-{subject}.edf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(template[:-4] + k.to_bytes(4, "little"))


def preprocess(folder: Path) -> float:
    """Return the seconds of one `deaps preprocess`."""
    deaps = Path(sys.executable).with_name("deaps")
    started = time.perf_counter()
    subprocess.run(
        [deaps, "preprocess", "--set", "data.shhs=shhs"],
        cwd=folder,
        env={**os.environ, "PREFECT_HOME": str(folder / "prefect")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - started
