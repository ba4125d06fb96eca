"""The commands themselves, as a user starts them; all that they start carries a mark."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil

from tests.flows.prefect_processes import BIN
from tests.flows.tiny_project import ROOT, environment
from tests.torture.child import BrokenError, forked
from tests.torture.project import preprocess, write_data

_MARK = "TORTURE_TRY"
_LINGER_S = 30.0
"""A server may take so long to end after its owner, on a busy machine."""

PATIENCE_S = 400.0
RECORDINGS = 8


def make_project(folder: Path, home: Path | None = None) -> str:
    """Write data and settings that need Prefect and workers; return the snapshot to expect."""
    write_data(folder / "data", n=RECORDINGS)
    shutil.copy(ROOT / "prefect.toml", folder)
    (folder / "deaps.toml").write_text(
        f'[data]\nfolder = "{folder / "data"}"\n\n[store]\nroot = "{folder / "store"}"\n\n'
        "[execution]\nworkers = 2\nbatch_recordings = 3\nchunk_megabytes = 0.02\n"
    )
    # A new database takes Prefect ten seconds; every try starts with a copy of one.
    shutil.copytree(_prefect_home(str(folder.parent / "home")), home or folder / ".prefect")
    return _expected(str(folder.parent / "expected"))


@contextmanager
def started(
    folder: Path,
    *words: str,
    prefix: tuple[str, ...] = (),
    log_name: str = "command.log",
    **variables: str,
) -> Iterator[psutil.Popen]:
    """Run ``deaps`` with some words, its output in a log; end what is left of the try."""
    env = environment(**{_MARK: str(folder)}, **variables)
    with (folder / log_name).open("ab") as log:
        process = psutil.Popen(
            [*prefix, str(BIN / "deaps"), *words],
            cwd=folder, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        for left in processes_of(folder):
            left.kill()
        process.wait(30)


def require_success(process: psutil.Popen, folder: Path) -> None:
    """Wait for a command; raise BrokenError unless it ends well."""
    try:
        code = process.wait(PATIENCE_S)
    except psutil.TimeoutExpired:
        raise BrokenError(f"no end after {PATIENCE_S:.0f} s: {output_of(folder)[-1500:]}") from None
    if code != 0 or "Traceback" in output_of(folder):
        raise BrokenError(f"exit {code}: {output_of(folder)[-1500:]}")


def output_of(folder: Path) -> str:
    """Return what the commands of a try printed."""
    return (folder / "command.log").read_text()


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the processes that the commands of a try have started, however far down."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(_MARK) == str(
                folder
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def require_no_orphans(folder: Path) -> None:
    """Raise BrokenError if a process outlives the command that it belongs to."""
    deadline = time.monotonic() + _LINGER_S
    while left := processes_of(folder):
        if time.monotonic() > deadline:
            raise BrokenError(f"orphans: {[_words(process) for process in left]}")
        time.sleep(0.3)


def below(process: psutil.Process, word: str) -> list[psutil.Process]:
    """Return the descendants of a process whose command line has a word, the oldest first."""
    try:
        children = process.children(recursive=True)
    except psutil.Error:
        return []
    return [child for child in children if word in _words(child)]


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def wait_until(what: Callable[[], Any], process: psutil.Popen) -> Any:
    """Return what ``what`` returns once it is true, or None if the process ends first."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if found := what():
            return found
        time.sleep(0.02)
    return None


def has_windows(folder: Path) -> bool:
    """Return whether a window file has been written."""
    return any((folder / "store" / "windows").rglob("*.parquet"))


@cache
def _expected(folder: str) -> str:
    """Return the snapshot of an uninterrupted run, without Prefect and workers."""
    path = Path(folder)
    write_data(path / "data", n=RECORDINGS)
    return str(forked(partial(preprocess, path)))


@cache
def _prefect_home(folder: str) -> Path:
    home = Path(folder)
    if home.exists():  # an earlier try made it, in a process of its own
        return home
    home.mkdir(parents=True)
    command = [str(BIN / "prefect"), "server", "database", "upgrade", "-y"]
    env = environment(PREFECT_HOME=str(home))
    subprocess.run(command, cwd=home, env=env, check=True, capture_output=True, timeout=PATIENCE_S)
    return home
