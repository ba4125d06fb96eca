"""People have older versions of DuckDB than the one that publishes."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from storage import Snapshot
from storage.tables import tables

READ = """
import duckdb, json, sys
index = duckdb.connect(sys.argv[1], read_only=True)
names = json.loads(sys.argv[2])
rows = {name: len(index.execute(f"FROM {name} LIMIT 3").fetchall()) for name in names}
summed = index.execute("SELECT sum(signal[7]) FROM windows_with_signal").fetchone()
print(json.dumps([rows, summed]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.3.2", "1.4.4", "1.5.6"])
def test_older_versions_open_every_table_and_view(
    root: Path, published: Snapshot, tmp_path: Path, version: str
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", f"duckdb=={version}"]
    subprocess.run(install, check=True, capture_output=True)
    command = ["-c", READ, str(root / "index.duckdb"), json.dumps(list(tables()))]
    older, ours = (
        subprocess.run([each, *command], check=True, capture_output=True, text=True).stdout
        for each in (python, sys.executable)
    )
    assert json.loads(older) == json.loads(ours)
