"""Sources that change, names that are odd, pipelines that meet, clocks that move."""

from __future__ import annotations

import os
import shutil
import time
from functools import partial
from pathlib import Path

import numpy as np

from flows.ingest.scan import scan
from storage.locks import writer_lock
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run
from tests.torture.child import BrokenError, Child, forked
from tests.torture.project import (
    broken_invariants,
    preprocess,
    require_same,
    require_whole,
    settings_of,
    write_data,
)

CHANGES = ("rewritten", "same size", "deleted", "duplicated", "while read", "touched")


def changed_source(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Change one source between runs or while it is read: only that recording is done again."""
    write_data(folder / "data")
    forked(partial(preprocess, folder))
    change = CHANGES[number % len(CHANGES)]
    victim = folder / "data" / "night-1.edf"
    time.sleep(2.1)  # sources are at rest: git's rule for its own index
    forked(partial(preprocess, folder))
    if change == "while read":
        child = Child(partial(_preprocess_again, folder))
        while child_is_alive(child.pid):
            write_edf(victim, {"ECG": beats(40, seed=int(rng.integers(1000)))})
        child.wait()
    else:
        _change(change, victim)
        todo = forked(partial(_todo, folder))
        expected = {"deleted": [], "duplicated": ["copy.edf"], "touched": ["night-1.edf"]}
        if todo != expected.get(change, ["night-1.edf"]):
            raise BrokenError(f"{change}: to do again are {todo}")
    forked(partial(require_whole, folder))
    forked(partial(preprocess, folder))
    fresh = folder / "fresh"
    fresh.mkdir()
    shutil.copytree(folder / "data", fresh / "data")
    forked(partial(require_same, folder, forked(partial(preprocess, fresh))))


def child_is_alive(pid: int) -> bool:
    """Return whether a child runs; it stays to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _preprocess_again(folder: Path) -> str:
    settings = settings_of(folder)
    for path in (folder / "data").glob("night-*.edf"):
        path.touch()
    return run(settings).snapshot_id


def _change(change: str, victim: Path) -> None:
    match change:
        case "rewritten":
            write_edf(victim, {"ECG": beats(50, seed=77)})
        case "same size":
            write_edf(victim, {"ECG": beats(40, seed=78)})
        case "deleted":
            victim.unlink()
        case "duplicated":
            shutil.copy(victim, victim.with_name("copy.edf"))
        case _:
            victim.touch()


def _todo(folder: Path) -> list[str]:
    return sorted(name for d in scan(settings_of(folder)).datasets for name in d.todo)


def meeting_pipelines(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Let two pipelines meet, or one find a dead one's lock, a moved clock or coarse times."""
    write_data(folder / "data")
    match number % 5:
        case 0 | 1:
            children = [Child(partial(_locked, folder)) for _ in range(2)]
            first, second = (child.wait().value for child in children)
            if first != second:
                raise BrokenError("two pipelines published two snapshots of the same data")
        case 2:
            child = Child(partial(_locked, folder))
            time.sleep(float(rng.uniform(0.05, 0.5)))
            child.kill()
            child.wait()
            forked(partial(_locked, folder), limit_s=30)
        case 3:
            forked(partial(preprocess, folder))
            forked(partial(_with_clock, folder, float(rng.choice([-1e6, -3600, 3600, 1e6]))))
        case _:
            _coarse_times(folder)
    forked(partial(require_whole, folder))
    if problems := forked(partial(broken_invariants, folder)):
        raise BrokenError("; ".join(problems[:3]))


def _locked(folder: Path) -> str:
    with writer_lock(folder / "store"):
        return preprocess(folder)


def _with_clock(folder: Path, shift_s: float) -> None:
    now, now_ns = time.time, time.time_ns
    time.time, time.time_ns = lambda: now() + shift_s, lambda: now_ns() + int(shift_s * 1e9)
    write_edf(folder / "data" / "night-1.edf", {"ECG": beats(40, seed=5)})
    preprocess(folder)
    time.time, time.time_ns = now, now_ns
    if todo := [n for n in _todo(folder) if n == "night-1.edf"]:
        preprocess(folder)
    if (
        not ask(settings_of(folder), "SELECT 1 FROM recordings WHERE name = 'night-1.edf'")
        or len(todo) > 1
    ):
        raise BrokenError("a moved clock lost a recording")


def _coarse_times(folder: Path) -> None:
    """Change a file so that size and coarse time stay: the content decides."""
    victim = folder / "data" / "night-1.edf"
    os.utime(victim, (1_700_000_000, 1_700_000_000))
    first = forked(partial(preprocess, folder))
    write_edf(victim, {"ECG": beats(40, seed=4)})
    os.utime(victim, (1_700_000_000, 1_700_000_000))
    if forked(partial(preprocess, folder)) == first:
        raise BrokenError("other content under the same time and size was not noticed")


ODD_NAMES = (
    "a b.edf", "'quote'.edf", '"double".edf', "semi;colon.edf", "-dash.edf", "%s%d.edf", "*.edf",
    "[a-z].edf", "?.edf", "new\nline.edf", "tab\t.edf", "é.edf", "e\u0301.edf", "日本.edf",
    "😀.edf",
    "$HOME.edf", "`id`.edf", "a" * 200 + ".edf", ".hidden.edf", "..edf", "a..b.edf", "CON.edf",
    "night.EDF", "<b>.edf", "\\x41.edf", "\udcff.edf", "DROP TABLE windows.edf", "a|b.edf",
    "a&b.edf", "~.edf",
)  # fmt: skip
LINKS = ("to a file", "to a folder", "to itself", "to nowhere", "outside", "of links")


def odd_names(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Give a recording an odd name, or a link beside it: indexed once, nothing outside."""
    data = folder / "data"
    write_edf(data / "plain.edf", {"ECG": beats(30, seed=1)})
    if number % 2:
        name = ODD_NAMES[number // 2 % len(ODD_NAMES)]
        write_edf(folder / "made.edf", {"ECG": beats(30, seed=2)}).rename(data / name)
        expected = 2
    else:
        expected = 1 + _link(LINKS[number // 2 % len(LINKS)], folder)
    outside = sorted(p.name for p in folder.iterdir())
    forked(partial(preprocess, folder))
    rows = forked(partial(_statuses, folder))
    if rows != ["ok"] * expected:
        raise BrokenError(f"I4: statuses are {rows}, expected {expected} ok")
    if problems := forked(partial(broken_invariants, folder)):
        raise BrokenError("; ".join(problems[:3]))
    new = {p.name for p in folder.iterdir()} - {*outside, "store", "oracle.jsonl"}
    if new:
        raise BrokenError(f"I11: {new} appeared outside the store")


def _statuses(folder: Path) -> list[str]:
    return [status for (status,) in ask(settings_of(folder), "SELECT status FROM recordings")]


def _link(kind: str, folder: Path) -> int:
    """Make a link, and return how many recordings more there are."""
    link, plain = folder / "data" / "a-link.edf", folder / "data" / "plain.edf"
    match kind:
        case "to a file":
            link.symlink_to(plain)
        case "to a folder":
            (folder / "data" / "again").symlink_to(folder / "data")
        case "to itself":
            link.symlink_to(link)
        case "to nowhere":
            link.symlink_to(folder / "gone.edf")
        case "of links":
            (folder / "data" / "b-link.edf").symlink_to(plain)
            link.symlink_to(folder / "data" / "b-link.edf")
        case _:
            write_edf(folder / "elsewhere" / "x.edf", {"ECG": beats(30, seed=3)})
            link.symlink_to(folder / "elsewhere" / "x.edf")
            return 1
    return 0


def soak(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Refresh for minutes while files come, change and go, and readers ask all the time."""
    seconds = float(os.environ.get("TORTURE_SOAK_S", "900"))
    write_data(folder / "data")
    forked(partial(preprocess, folder))
    reader = Child(partial(_keep_asking, folder, seconds), group=True)
    writer = Child(partial(_keep_refreshing, folder, seconds, int(rng.integers(1 << 30))))
    levels = writer.wait(seconds + 120).value
    asked = reader.wait(seconds + 60).value
    forked(partial(require_whole, folder))
    half = len(levels) // 2
    memory = [m for m, _ in levels]
    if max(memory[half:]) > 1.3 * max(memory[:half]) + 50:
        raise BrokenError(
            f"memory grew from {max(memory[:half]):.0f} to {max(memory[half:]):.0f} MB"
        )
    if levels[-1][1] > levels[half][1] + 5:
        raise BrokenError(f"open files grew from {levels[half][1]} to {levels[-1][1]}")
    if asked < 3:
        raise BrokenError("the reader got no answers")


def _keep_refreshing(folder: Path, seconds: float, seed: int) -> list[tuple[float, int]]:
    import psutil

    rng, me, levels = np.random.default_rng(seed), psutil.Process(), []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        name = folder / "data" / f"night-{rng.integers(8)}.edf"
        if name.exists() and rng.random() < 0.3:
            name.unlink()
        else:
            write_edf(name, {"ECG": beats(30, seed=int(rng.integers(1000)))})
        preprocess(folder)
        levels.append((me.memory_info().rss / 1e6, me.num_fds()))
        time.sleep(0.5)
    return levels


def _keep_asking(folder: Path, seconds: float) -> int:
    from storage.snapshot import open_index, read_snapshot

    asked, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        with open_index(folder / "store") as index:
            before = read_snapshot(index)
            (count,) = index.execute("SELECT count(*) FROM windows").fetchall()[0]
            time.sleep(0.2)
            if count != before.n_windows or read_snapshot(index) != before:
                raise BrokenError("I6: a reader saw two snapshots")
        asked += 1
    return asked
