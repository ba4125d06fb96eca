"""Processes: Ctrl-C and SIGTERM while a flow runs, and children that end with their parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

from flows.runtime.console import notify

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STOPPED = "stopped; what was done is kept, run it again to go on"
_WAITING = b"deaps: stopping after this step, with a checkpoint; once more stops at once\n"
_LAST_WORDS_S = 60
"""How long a training in a process of its own may take to write its checkpoint."""
STOPPED = 130
"""Exit code of a process that a signal stopped."""

ATTEMPTS = 5
"""Times that a training is started whose process died without saying why."""

Handler = Callable[[int, FrameType | None], Any] | int | None
_asked_for = False
_beside: list[subprocess.Popen[bytes]] = []
"""Processes that this one has started other than by multiprocessing."""


@contextlib.contextmanager
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


@contextlib.contextmanager
def stopped_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End ``process`` with this one, by SIGTERM, which torchrun passes on to its processes."""
    _beside.append(process)
    try:
        yield
    finally:
        _beside.remove(process)


def starts_again(name: str, attempts: int, why: str) -> bool:
    """Return whether a training whose process died is started again, and say so if it is."""
    if attempts >= ATTEMPTS:
        return False
    notify(f"{name} died ({why}); starting it again from its last checkpoint")
    return True


class DelayedStop:
    """A signal that waits for the end of a step: whether it came, and what follows."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._before: dict[int, Handler] = {}

    def asked(self) -> bool:
        """Return whether a signal came."""
        return self._number is not None

    def deliver(self, message: str) -> None:
        """Do what the signal would have done; a command ends with ``message``."""
        number = self._number if self._number is not None else int(signal.SIGINT)
        before = self._before.get(number)
        if before is _stop:
            _end(message)
        signal.signal(number, before)
        signal.raise_signal(number)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._number is not None:
            self.deliver(_STOPPED)
        self._number = number
        with contextlib.suppress(OSError):
            os.write(2, _WAITING)


@contextlib.contextmanager
def stopping_after_a_step() -> Iterator[DelayedStop]:
    """Let both signals wait until the work inside looks for them; a second one is not delayed.

    Only the main thread can do so. In another, signals do what they did before.
    """
    delayed = DelayedStop()
    if threading.current_thread() is not threading.main_thread():
        yield delayed
        return
    for number in (*_SIGNALS, signal.SIGHUP):  # the last: somebody closed the terminal
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            delayed._before[number] = signal.signal(number, delayed._receive)
    try:
        yield delayed
    finally:
        for signal_number, handler in delayed._before.items():
            signal.signal(signal_number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    _end(_STOPPED)


def _end(message: str) -> NoReturn:
    """End this process and its children, and say so."""
    for child in multiprocessing.active_children():
        child.kill()
    for process in _beside:
        process.terminate()
    for process in _beside:  # they write a checkpoint, and nobody may begin before they are done
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_WORDS_S)
    with contextlib.suppress(OSError):
        os.write(2, f"deaps: {message}\n".encode())
    os._exit(STOPPED)


_LOOK_S = 0.3
_PATIENCE_S = 10.0


def tied_command(command: Sequence[str]) -> list[str]:
    """Return ``python -m MODULE ...`` as a command that ends with this process."""
    python, option, *rest = command
    if option != "-m":
        raise ValueError(f"command is {list(command)}; expected python -m MODULE ...")
    return [python, option, "flows.runtime.processes", str(os.getpid()), *rest]


def main() -> None:
    """Run a module until it ends or its parent does."""
    parent, module, *arguments = sys.argv[1:]
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE_S)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
