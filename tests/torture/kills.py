"""kill -9 of preprocessing: at random moments, and at named points of every write."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import storage.files
import storage.publish
from tests.torture import planted
from tests.torture.child import BrokenError, Child, forked
from tests.torture.project import preprocess, require_same, require_whole, write_data

POINTS = ("after publish", "temporary written", "before rename", "after rename", "before publish")


def kill_in_preprocessing(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Kill the stage at a named point (two tries of five) or at any moment, then complete it."""
    expected, takes_s = _reference(str(folder.parent / "reference"))
    write_data(folder / "data")
    if number % 3 == 0:  # something is published already, and one recording is new
        new = folder / "data" / "night-0.edf"
        new.rename(folder / "later.edf")
        forked(partial(preprocess, folder))
        (folder / "later.edf").rename(new)
    if number % 5 < 2:
        # Two of five tries, so that all points take turns.
        point, nth = POINTS[(number // 5 * 2 + number % 5) % len(POINTS)], int(rng.integers(1, 4))
        work = partial(_killing_itself, point, nth, folder)
        Child(work).wait()
    else:
        child = Child(partial(_planted, folder))
        # Beyond the end, too: how long a run takes depends on the machine.
        time.sleep(float(rng.uniform(0, 1.3 * takes_s)))
        child.kill()
        child.wait()
    forked(partial(require_whole, folder))
    forked(partial(require_same, folder, expected))


def durable_order(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Check that every file is on the disk before it takes its name, and the index comes last.

    A kill does not lose what the kernel has; only the order of calls shows a missing fsync.
    """
    write_data(folder / "data", seed=number)
    calls: list[tuple[str, str]] = forked(partial(_traced, folder))
    synced: set[str] = set()
    renamed = []
    for what, path in calls:
        if what == "fsync":
            synced.add(path)
        elif path not in synced:
            raise BrokenError(f"I2: {Path(path).name} was renamed before it was synced")
        else:
            renamed.append(path)
    if not any("index.duckdb" in path for path in renamed[-2:]):
        raise BrokenError(f"I1: the index was not published last: {renamed[-3:]}")
    if sum(".parquet" in path for path in renamed) < 6:
        raise BrokenError("I2: a window file took its name without a rename")


@cache
def _reference(folder: str) -> tuple[str, float]:
    """Return the snapshot of an uninterrupted run, and how long it took."""
    path = Path(folder)
    if not (path / "data").exists():
        write_data(path / "data")
    started = time.monotonic()
    return str(forked(partial(preprocess, path))), time.monotonic() - started


def _planted(folder: Path) -> str:
    with planted.bug():
        return preprocess(folder)


def _killing_itself(point: str, nth: int, folder: Path) -> str:
    with planted.bug(), _kill_at(point, nth):
        return preprocess(folder)


def _traced(folder: Path) -> list[tuple[str, str]]:
    calls: list[tuple[str, str]] = []
    fsync, rename = storage.files.fsync_path, pathlib.Path.replace

    def noted_fsync(path: Path) -> None:
        calls.append(("fsync", str(path)))
        fsync(path)

    def noted_rename(path: Path, to: Path) -> Path:
        calls.append(("rename", str(path)))
        return rename(path, to)

    storage.files.fsync_path = noted_fsync
    pathlib.Path.replace = noted_rename  # type: ignore[assignment,method-assign]
    with planted.bug():
        preprocess(folder)
    return calls


@contextmanager
def _kill_at(point: str, nth: int) -> Iterator[None]:
    """Kill this process when it comes to a point for the nth time."""
    left = [nth]

    def die() -> None:
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    match point:
        case "temporary written":
            storage.files.fsync_path = _before(die, storage.files.fsync_path)
        case "before rename":
            pathlib.Path.replace = _before(die, pathlib.Path.replace)  # type: ignore[method-assign]
        case "after rename":
            pathlib.Path.replace = _after(die, pathlib.Path.replace)  # type: ignore[method-assign]
        case "before publish":
            left[0] = 1
            storage.publish._write = _before(die, storage.publish._write)
        case _:
            left[0] = 1
            storage.publish._write = _after(die, storage.publish._write)
    yield


def _before(act: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **options: Any) -> Any:
        act()
        return function(*args, **options)

    return wrapped


def _after(act: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **options: Any) -> Any:
        value = function(*args, **options)
        act()
        return value

    return wrapped


def clear(folder: Path) -> None:
    """Remove what a try has left."""
    shutil.rmtree(folder, ignore_errors=True)
