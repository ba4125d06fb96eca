"""A disk that is full, by kind of file; and a store that may not be written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from storage.errors import DeapsError
from tests.deaps.training.training_store import make_training_store
from tests.torture.child import BrokenError, forked
from tests.torture.commands import make_project, require_no_orphans, require_success, started
from tests.torture.project import content_of, preprocess, require_same, require_whole, write_data
from tests.torture.small_disk import SmallDisk
from tests.torture.training import (
    embed,
    prepare_run,
    train,
    trained_without_kill,
    write_made_report,
)

Case = Callable[[np.random.Generator, Path], None]


def full_disk(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Fill the disk before one kind of file is written: a clear error, then completion."""
    case = CASES[number % len(CASES)]
    # In a child: the mounts are its own, and go with it.
    forked(partial(case, rng, folder), limit_s=600)


def _store(rng: np.random.Generator, folder: Path, *, least: float, most: float) -> None:
    """Fill the disk to a share of what the store needs."""
    write_data(folder / "data", n=2)
    reference = folder / "reference"
    shutil.copytree(folder / "data", reference / "data")
    expected = forked(partial(preprocess, reference))
    needed = sum(p.stat().st_size for p in (reference / "store").rglob("*") if p.is_file())
    disk = SmallDisk(folder / "store")
    _require_clear(disk, partial(preprocess, folder), int(needed * rng.uniform(least, most)))
    forked(partial(require_whole, folder))
    forked(partial(require_same, folder, expected))


def _checkpoint(rng: np.random.Generator, folder: Path) -> None:
    """Let some checkpoints fit and not the next one; then go on where not even a line fits."""
    expected = trained_without_kill(str(folder.parent / "reference"))
    disk = SmallDisk(folder / "store")
    forked(partial(prepare_run, folder))
    _require_clear(disk, partial(train, folder), int(rng.uniform(1, 60) * 1e6))
    _require_clear(disk, partial(train, folder), int(rng.integers(0, 20_000)))
    if forked(partial(train, folder)) != expected:
        raise BrokenError("I9: another training after a full disk")


def _embeddings(rng: np.random.Generator, folder: Path) -> None:
    disk = SmallDisk(folder / "disk")
    forked(partial(make_training_store, disk.path / "store", 2))
    _require_kept(disk, "out.parquet", embed, int(rng.integers(0, 20_000)))


def _report(rng: np.random.Generator, folder: Path) -> None:
    disk = SmallDisk(folder / "disk")
    _require_kept(disk, "index.html", write_made_report, int(rng.integers(0, 50_000)))


def _prefect(rng: np.random.Generator, folder: Path) -> None:
    """Fill the disk of Prefect's own database: the data work completes without it."""
    disk = SmallDisk(folder / "disk")
    expected = make_project(folder, disk.path / "home")
    leave = int(rng.choice([0, 50_000, 500_000]))
    disk.when_full(partial(_preprocess_with, disk.path / "home", folder), leave=leave, limit_s=450)
    forked(partial(require_whole, folder))
    forked(partial(require_same, folder, expected))


def _preprocess_with(home: Path, folder: Path) -> None:
    with started(folder, "preprocess", PREFECT_HOME=str(home)) as flow:
        require_success(flow, folder)
        require_no_orphans(folder)


def _read_only(rng: np.random.Generator, folder: Path) -> None:
    write_data(folder / "data", n=2)
    forked(partial(preprocess, folder))
    os.system(f"chmod -R a-w,a+rX {folder / 'store'}; chmod a+rx {folder}")
    (folder / "data" / "night-0.edf").unlink()
    before = content_of(folder / "store")
    if not forked(partial(_as_nobody, partial(preprocess, folder))):
        raise BrokenError("a read-only store was written without an error")
    if content_of(folder / "store") != before:
        raise BrokenError("I2: a read-only store was changed")
    os.system(f"chmod -R u+w {folder / 'store'}")
    forked(partial(preprocess, folder))
    forked(partial(require_whole, folder))


def _require_kept(
    disk: SmallDisk, name: str, work: Callable[[Path, int], None], leave: int
) -> None:
    """Raise BrokenError unless a file stays as it is on a full disk, and is written on another."""
    forked(partial(work, disk.path, 0))
    old = (disk.path / name).read_bytes()
    _require_clear(disk, partial(work, disk.path, 1), leave)
    if (disk.path / name).read_bytes() != old:
        raise BrokenError(f"{name} was changed by a write that failed")
    forked(partial(work, disk.path, 1))
    if (disk.path / name).read_bytes() == old:
        raise BrokenError(f"{name} was not written when there was space again")


def _require_clear(disk: SmallDisk, work: Callable[[], object], leave: int) -> None:
    words = disk.when_full(partial(_error_of, work), leave=leave)
    if not any(word in words for word in ("No space left", "File too large", "disk is full")):
        raise BrokenError(f"the words are {words!r} on a disk with {leave} bytes")
    if str(disk.path) not in words:
        raise BrokenError(f"the words {words!r} do not say which disk is full")


def _as_nobody(work: Callable[[], object]) -> str:
    os.setgid(65534)
    os.setuid(65534)
    return _error_of(work)


def _error_of(work: Callable[[], object]) -> str:
    """Return the words that the command line would print; other errors are faults of ours."""
    try:
        work()
    except (DeapsError, OSError) as error:
        return str(error)
    return ""


CASES: tuple[Case, ...] = (
    partial(_store, least=0.0, most=0.2),
    partial(_store, least=0.2, most=0.9),
    _checkpoint,
    _embeddings,
    _report,
    _prefect,
    _read_only,
)
