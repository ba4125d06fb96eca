"""The wheel, installed in an empty environment and used from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.edf_files import beats, write_edf

ROOT = Path(__file__).parents[1]

SMALL = (
    "synth.shhs_subjects=6", "synth.shhs_hours=0.1", "synth.mitdb_records=4",
    "synth.mitdb_minutes=6", "synth.afdb_records=0", "synth.challenge2017_records=60",
    "synth.afpdb_subjects=0", "synth.ecgiddb_people=0",
    'experiment.methods=["byol"]', "experiment.ablations=[]", "experiment.evolution=false",
    "experiment.classical=false", "benchmarks.afib_loo=mitdb", "benchmarks.few_recordings=2",
    "benchmarks.few_draws=2", "benchmarks.bootstrap=20", "training.iterations=2",
    "execution.workers=1",
)  # fmt: skip


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command in a shell's environment without anything of this project."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT", "DEAPS", "PYTHON"))}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=kept | {"PREFECT_HOME": str(cwd / ".prefect")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def install(tmp_path: Path, extras: str = "") -> tuple[Path, Path]:
    """Build the wheel and install it in an empty environment; return that and another folder."""
    run(
        *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", tmp_path, ROOT),
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("deaps-*.whl")
    environment, folder = tmp_path / "venv", tmp_path / "elsewhere"
    venv.create(environment, with_pip=True)
    folder.mkdir()
    what, constraints = f"{wheel}{extras}", ROOT / "constraints.txt"
    run(environment / "bin/pip", "install", "--quiet", "-c", constraints, what, cwd=folder)
    return environment, folder


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_core_alone_embeds_a_night_and_names_the_extra_of_other_commands(
    tmp_path: Path,
) -> None:
    environment, folder = install(tmp_path)
    listed = run(environment / "bin/pip", "list", "--format=freeze", cwd=folder).split()
    assert len(listed) <= 45, listed
    write_edf(folder / "data/night.edf", {"ECG": beats(65)})
    deaps = environment / "bin/deaps"
    run(deaps, "embed", "data/night.edf", "--out", "night.parquet", cwd=folder)
    assert pq.read_metadata(folder / "night.parquet").num_rows == 6
    run(deaps, "preprocess", "--set", "data.folder=data", cwd=folder)
    counted = run(deaps, "query", "--csv", "SELECT count(*) AS n FROM windows", cwd=folder)
    assert counted.split() == ["n", "6"]
    done = subprocess.run(
        [deaps, "show", "folder/night"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "matplotlib is not installed; run pip install 'deaps[report]'" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_wheel_runs_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    environment, folder = install(tmp_path, "[all]")
    options = [word for setting in SMALL for word in ("--set", setting)]
    page = run(environment / "bin/deaps", "run", "--preset", "demo", *options, cwd=folder)
    report = Path(page.rpartition("report: ")[2].splitlines()[0])
    assert report.is_relative_to(folder)
    assert "BYOL" in report.read_text()
    home = run(environment / "bin/python", "-c", "import deaps; print(deaps.__file__)", cwd=folder)
    assert home.startswith(str(environment))
