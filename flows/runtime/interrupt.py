"""Ctrl-C and SIGTERM while a flow runs: stop at once, because the store bears any kill.

Prefect would report the interruption to its embedded server, which the same Ctrl-C has ended,
and try for more than a minute.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STOPPED = b"deaps: stopped; what was done is kept, run it again to go on\n"
_EXIT_CODE = 130
_asked_for = False
_beside: list[subprocess.Popen[bytes]] = []
"""Processes that this one has started other than by multiprocessing."""


@contextmanager
def stop_at_once() -> Iterator[None]:
    """Make both signals end this process and its children without delay."""
    global _asked_for  # signal handlers are the process's, too
    # The tracker of shared resources would otherwise complain of what a stop leaves.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    _asked_for = True
    keep_stopping_at_once()
    try:
        yield
    finally:
        _asked_for = False
        for number, handler in before.items():
            signal.signal(number, handler)


def keep_stopping_at_once() -> None:
    """Take both signals back from Prefect, which takes SIGTERM when a flow starts.

    Does nothing outside `stop_at_once`: a worker's flows are stopped Prefect's way.
    """
    if _asked_for:
        for number in _SIGNALS:
            signal.signal(number, _stop)


@contextmanager
def stopped_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End ``process`` with this one, by SIGTERM, which torchrun passes on to its processes."""
    _beside.append(process)
    try:
        yield
    finally:
        _beside.remove(process)


def _stop(number: int, frame: FrameType | None) -> None:
    for child in multiprocessing.active_children():
        child.kill()
    for process in _beside:
        process.terminate()
    _end_embedded_server()
    os.write(2, _STOPPED)
    os._exit(_EXIT_CODE)


def _end_embedded_server() -> None:
    if "prefect" not in sys.modules:
        return
    from prefect.server.api.server import SubprocessASGIServer

    process = SubprocessASGIServer().server_process
    if process is not None:
        process.kill()
