from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from storage import RecordingRow, Snapshot
from tests.storage.made_store import make_signal, publish_rows

ASK = "SELECT signal FROM windows_with_signal WHERE name = 'a2' ORDER BY row"


def test_windows_come_with_labels_and_samples(root: Path, published: Snapshot) -> None:
    with duckdb.connect(root / "index.duckdb", read_only=True) as index:
        signal = index.execute(ASK).fetchnumpy()["signal"]
        labels = "SELECT subject, visit, quality FROM windows_with_signal WHERE name='a2' AND row=1"
        assert index.execute(labels).fetchall() == [("s1", 2, "Barely acceptable")]
    assert np.array_equal(np.stack(signal), make_signal(5, 1).astype(np.float32))


def test_the_view_works_in_another_process_and_folder(
    root: Path, published: Snapshot, tmp_path: Path
) -> None:
    code = (
        "import duckdb, sys\n"
        "index = duckdb.connect(sys.argv[1], read_only=True)\n"
        "print(index.execute('SELECT count(signal) FROM windows_with_signal').fetchall())"
    )
    command = [sys.executable, "-c", code, str(root / "index.duckdb")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == "[(15,)]\n"


@pytest.mark.parametrize("slash", ["", "/", "//"])
def test_a_moved_store_is_read_through_the_variable(
    root: Path, published: Snapshot, slash: str
) -> None:
    moved = root.with_name("moved's store")
    root.rename(moved)
    with duckdb.connect(moved / "index.duckdb", read_only=True) as index:
        with pytest.raises(duckdb.IOException, match="No files found"):
            index.execute(ASK)
        index.execute("SET VARIABLE deaps_store = '" + str(moved).replace("'", "''") + slash + "'")
        assert len(index.execute(ASK).fetchall()) == 5


def test_one_recording_opens_one_file(root: Path, rows: list[RecordingRow]) -> None:
    publish_rows(root, rows)
    for row in (rows[0], rows[2]):
        (root / str(row.path)).write_bytes(b"not to be opened")
    with duckdb.connect(root / "index.duckdb", read_only=True) as index:
        # The first file is always looked at, for the names of the columns.
        (root / str(rows[0].path)).write_bytes((root / str(rows[1].path)).read_bytes())
        assert len(index.execute(ASK).fetchall()) == 5
