"""Ctrl-C and SIGTERM while a flow runs: stop at once, because the store bears any kill.

Prefect would report the interruption to its embedded server, which the same Ctrl-C has ended,
and try for more than a minute.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPED = b"deaps: stopped; what was done is kept, run it again to go on\n"
_EXIT_CODE = 130


@contextmanager
def stop_at_once() -> Iterator[None]:
    """Make both signals end this process and its children without delay."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    # Children first, and only what a signal handler may do.
    for child in multiprocessing.active_children():
        child.terminate()
    _end_embedded_server()
    os.write(2, _STOPPED)
    os._exit(_EXIT_CODE)


def _end_embedded_server() -> None:
    from prefect.server.api.server import SubprocessASGIServer

    process = SubprocessASGIServer().server_process
    if process is not None:
        process.terminate()
