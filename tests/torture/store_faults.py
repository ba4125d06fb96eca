"""Faults of the store itself: flipped bits, other users of the index, hostile SQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import torch

from deaps import Encoder, load_encoder
from deaps.evaluation.examples import Windows
from deaps.evaluation.features import has_features, read_features, write_features
from deaps.training.checkpoints import load_checkpoint, save_checkpoint, save_encoder
from storage.errors import DeapsError
from storage.maintenance import check_store
from storage.query import run_query
from storage.snapshot import open_index
from storage.window_store import WindowStore
from tests.edf_files import beats, write_edf
from tests.torture.child import BrokenError, forked
from tests.torture.project import any_of, broken_invariants, content_of, preprocess, write_data

KINDS = ("window file", "index", "checkpoint", "features", "encoder file")


def flipped_bit(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Flip one bit of a file; whoever would use it has to notice first."""
    kind = KINDS[number % len(KINDS)]
    forked(partial(_prepare, kind, folder))
    path = _victim(rng, kind, folder)
    content = bytearray(path.read_bytes())
    at = int(rng.integers(len(content)))
    content[at] ^= 1 << int(rng.integers(8))
    path.chmod(0o644)
    path.write_bytes(content)
    if not forked(partial(_noticed, kind, folder)):
        raise BrokenError(f"byte {at} of {path.name} was changed and nobody noticed")


def _prepare(kind: str, folder: Path) -> None:
    torch.manual_seed(0)
    if kind in ("window file", "index"):
        write_data(folder / "data", n=2)
        preprocess(folder)
    elif kind == "checkpoint":
        for step in (1, 2):
            save_checkpoint(
                folder, step, method=torch.nn.Linear(40, 40), method_name="m",
                config_digest="d", state={"step": step}, keep=2,
            )  # fmt: skip
    elif kind == "features":
        windows = Windows(
            np.zeros(50, np.int32), np.arange(50, dtype=np.int32), np.zeros(50, np.uint64)
        )
        features = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)
        write_features(folder / "f.parquet", windows, features)
    else:
        about = {"architecture": "encoder", "settings": "{}"}
        save_encoder(folder / "e.safetensors", Encoder(), about)


def _victim(rng: np.random.Generator, kind: str, folder: Path) -> Path:
    match kind:
        case "window file":
            return any_of(rng, sorted((folder / "store" / "windows").rglob("*.parquet")))
        case "index":
            return folder / "store" / "index.duckdb"
        case "checkpoint":
            files = ["weights.safetensors", "state.pt"]
            return folder / "checkpoints" / "step-00000002" / files[int(rng.integers(2))]
        case "features":
            return folder / "f.parquet"
        case _:
            return folder / "e.safetensors"


def _noticed(kind: str, folder: Path) -> bool:
    store = folder / "store"
    match kind:
        case "window file":
            by_reader = _raises(partial(_read_all, store))
            return by_reader and any(f.is_error for f in check_store(store, verify=True))
        case "index":
            by_reader = _raises(lambda: open_index(store).close())
            return by_reader and any(f.is_error for f in check_store(store))
        case "checkpoint":
            loaded = load_checkpoint(
                folder, method=torch.nn.Linear(40, 40), method_name="m", config_digest="d",
                notify=lambda _: None,
            )  # fmt: skip
            return loaded is not None and loaded[0] == 1
        case "features":
            path = folder / "f.parquet"
            return _raises(lambda: read_features(path)) and not has_features(path)
        case _:
            return _raises(lambda: load_encoder(folder / "e.safetensors"))


def _read_all(store: Path) -> None:
    windows = WindowStore(store)
    for number in windows.recording_ids:
        windows.read_recording(int(number))


def _raises(act: Callable[[], object]) -> bool:
    try:
        act()
    except DeapsError:
        return True
    return False


HOLDER = """
import sys, duckdb
index = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reading")
if sys.argv[2] == "writing":
    index.execute("CREATE TABLE mine AS SELECT 1 AS x")
first = index.execute("SELECT snapshot_id FROM snapshot").fetchall()
print("ready", flush=True)
sys.stdin.readline()
assert index.execute("SELECT snapshot_id FROM snapshot").fetchall() == first
print("same", flush=True)
"""


def index_held(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Hold the index open, reading or writing, through a publication; then close or be killed."""
    write_data(folder / "data", n=2)
    forked(partial(preprocess, folder))
    index = folder / "store" / "index.duckdb"
    how, killed = ("reading", "writing")[number % 2], number % 4 >= 2
    index.chmod(0o644)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(index), how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    if holder.stdout.readline() != "ready\n":
        raise BrokenError("the user could not open the index")
    write_edf(folder / "data" / "new.edf", {"ECG": beats(30, seed=99)})
    forked(partial(preprocess, folder))
    if killed:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    elif holder.communicate("go\n", timeout=30)[0] != "same\n":
        raise BrokenError("I6: an open index changed")
    if problems := forked(partial(_after_holder, folder)):
        raise BrokenError("; ".join(problems[:3]))


def _after_holder(folder: Path) -> list[str]:
    preprocess(folder)  # removes what a writer has left
    with duckdb.connect(folder / "store" / "index.duckdb", read_only=True) as index:
        (count,) = index.execute("SELECT count(*) FROM recordings").fetchall()[0]
    return broken_invariants(folder) + ([] if count == 5 else [f"{count} recordings, not 5"])


HOSTILE = (
    "COPY windows TO '{out}/x.csv'", "COPY (SELECT 1) TO '{store}/windows/x.parquet'",
    "EXPLAIN ANALYZE COPY windows TO '{out}/x.csv'", "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM read_parquet('/tmp/*.parquet')",
    "SELECT * FROM glob('/etc/*')", "ATTACH '{out}/x.db' AS x", "DETACH deaps",
    "INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "PRAGMA database_list",
    "DELETE FROM windows", "UPDATE recordings SET name = 'x'", "DROP TABLE windows",
    "CREATE TABLE x AS SELECT 1", "INSERT INTO runs SELECT * FROM runs", "VACUUM", "CHECKPOINT",
    "SELECT 1; DROP TABLE windows", "EXPORT DATABASE '{out}/dump'", "CALL pragma_version()",
    "SELECT count(*) FROM range(10000000) a, range(10000000) b",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "SELECT repeat('x', 2000000000)", "SELECT list(range) FROM range(1000000000)",
    "SELECT a.range FROM range(100000000) a, range(1000) b",
    "SELECT * FROM '{out}/secret.csv'", "SELECT getenv('HOME')",
)  # fmt: skip


def hostile_sql(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Ask one hostile statement: refused or bounded, and nothing is changed or written."""
    write_data(folder / "data", n=1)
    forked(partial(preprocess, folder))
    out = folder / "out"
    out.mkdir()
    (out / "secret.csv").write_text("a,b\n1,2\n")
    before = content_of(folder)
    sql = HOSTILE[number % len(HOSTILE)].format(out=out, store=folder / "store")
    started = time.monotonic()
    forked(partial(_ask, folder / "store", sql), limit_s=20)
    if time.monotonic() - started > 6:
        raise BrokenError(f"{sql!r} took {time.monotonic() - started:.1f} s")
    if content_of(folder) != before:
        raise BrokenError(f"{sql!r} changed or wrote something")


def _ask(store: Path, sql: str) -> None:
    os.chdir(store.parent)
    try:
        run_query(store, sql, seconds=2, megabytes=200, limit=1000)
    except DeapsError:
        return
    if "getenv" not in sql and "a.range" not in sql:
        raise BrokenError(f"{sql!r} was answered")
