"""Small data sets, the stages in one process, and what the invariants say of the store."""

from __future__ import annotations

import hashlib
import importlib
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from flows.config import Settings
from flows.ingest.summary import check_deeply
from storage.snapshot import IndexMissingError, open_index, read_snapshot
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for
from tests.torture.child import BrokenError, forked
from tests.torture.oracle import Oracle
from tests.wfdb_files import write_record

RECORDINGS = 5


def write_data(folder: Path, *, seed: int = 0, n: int = RECORDINGS) -> Path:
    """Write a folder of EDF and WFDB recordings, one of them damaged."""
    for i in range(n):
        write_edf(folder / f"night-{i}.edf", {"ECG": beats(40, seed=seed + i)})
    write_record(folder, "beat", {"II": beats(30, 360, seed=seed)}, rhythms={0: "N"})
    (folder / "broken.edf").write_bytes(b"0       " + bytes(100))
    return folder


def settings_of(folder: Path) -> Settings:
    """Return the settings of the project in a folder."""
    return settings_for(folder / "store", folder=folder / "data")


def preprocess(folder: Path) -> str:
    """Do the stage and acknowledge what was published; return the snapshot's id."""
    snapshot = run(settings_of(folder))
    Oracle(folder / "oracle.jsonl").note("published", snapshot=snapshot.snapshot_id)
    return snapshot.snapshot_id


def broken_invariants(folder: Path) -> list[str]:
    """Return what I1, I4 to I7, I11 and I12 say against the project's store."""
    return [f"{f.kind} {f}" for f in check_deeply(settings_of(folder))]


def require_whole(folder: Path) -> str | None:
    """Raise BrokenError unless the store is whole and holds what was acknowledged last.

    Return the id of the published snapshot, None if there is none yet.
    """
    notes = Oracle(folder / "oracle.jsonl").notes("published")
    try:
        with open_index(folder / "store") as index:
            snapshot = read_snapshot(index)
    except IndexMissingError:
        if notes:
            raise BrokenError(
                f"I2: snapshot {notes[-1]['snapshot'][:12]} was acknowledged and is gone"
            ) from None
        return None
    problems = [p for p in broken_invariants(folder) if "is in the data set and not in" not in p]
    if problems:
        raise BrokenError("; ".join(problems[:3]))
    return snapshot.snapshot_id


def require_same(folder: Path, expected: str) -> None:
    """Raise BrokenError unless a completed run has the content of an uninterrupted one (I3)."""
    done = preprocess(folder)
    if done != expected:
        raise BrokenError(f"I3: {done[:12]} after the fault, {expected[:12]} without")
    if problems := broken_invariants(folder):
        raise BrokenError("; ".join(problems[:3]))


def content_of(folder: Path) -> str:
    """Return a digest of the bytes of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def any_of(rng: np.random.Generator, items: list[Path]) -> Path:
    """Return one of some paths."""
    return items[int(rng.integers(len(items)))]


def warm_up(folder: Path) -> None:
    """Import in this process what the stages import late, so that forked children have it."""
    write_data(folder / "data", n=1)

    def modules_needed() -> list[str]:
        before = set(sys.modules)
        preprocess(folder)
        broken_invariants(folder)
        return sorted(set(sys.modules) - before)

    for name in forked(modules_needed):
        with suppress(ImportError):
            importlib.import_module(name)
