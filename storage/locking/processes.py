"""Processes of this machine, looked up in the same way on Linux and macOS."""

from __future__ import annotations

from pathlib import Path


def command_words(pid: int) -> list[str]:
    """Return the words of a process's command line.

    There are none if the process has ended, or if this user may not see it.
    """
    import psutil  # type: ignore[import-untyped]  # it ships no types

    try:
        return list(psutil.Process(pid).cmdline())
    except psutil.Error:
        return []


def start_time(pid: int) -> float | None:
    """Return when a process started, None if it has ended; with it a pid is never another's."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def processes_with_open_file(path: Path) -> list[int]:
    """Return the pids of all processes that this user may see and that have a file open."""
    import psutil

    wanted = str(path.resolve())
    return [
        process.pid
        for process in psutil.process_iter(["open_files"], ad_value=())
        if any(file.path == wanted for file in process.info["open_files"])
    ]
