"""Work in a forked child: quick to start, free to be killed, measured when it ends."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

LIMIT_S = 120.0


class BrokenError(AssertionError):
    """Something that should hold does not."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its result, or how it was killed, and its largest memory in MB."""

    value: Any
    signal: int
    seconds: float
    peak_mb: float

    @property
    def killed(self) -> bool:
        """Whether a signal ended it."""
        return self.signal != 0


class Child:
    """A forked child that runs ``work`` and hands back what it returns."""

    def __init__(self, work: Callable[[], Any], *, group: bool = False) -> None:
        self._reading, writing = os.pipe()
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._reading)
            if group:
                os.setpgid(0, 0)
            _run(work, writing)
        os.close(writing)

    def kill(self) -> None:
        """End it as a power switch would."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, limit_s: float = LIMIT_S) -> Ended:
        """Return how it ended; raise BrokenError if it hangs or if ``work`` raised."""
        data = self._receive(limit_s)
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self._reading)
        seconds, peak_mb = time.monotonic() - self.started, usage.ru_maxrss / 1e3
        if os.WIFSIGNALED(status):
            return Ended(None, os.WTERMSIG(status), seconds, peak_mb)
        raised, value = pickle.loads(data)
        if raised:
            raise BrokenError(value)
        return Ended(value, 0, seconds, peak_mb)

    def _receive(self, limit_s: float) -> bytes:
        parts, deadline = [], time.monotonic() + limit_s
        while True:
            ready, _, _ = select.select(
                [self._reading], [], [], max(0.0, deadline - time.monotonic())
            )
            if not ready:
                self.kill()
                os.wait4(self.pid, 0)
                raise BrokenError(f"no end after {limit_s:g} s")
            part = os.read(self._reading, 1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)


def forked(work: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """Return what ``work`` returns, from a child of its own."""
    ended = Child(work).wait(limit_s)
    if ended.killed:
        raise BrokenError(f"ended by signal {ended.signal}")
    return ended.value


def _run(work: Callable[[], Any], writing: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = 0
    try:
        outcome = (False, work())
    except BrokenError as error:
        outcome = (True, str(error))
    except BaseException as error:
        outcome = (True, f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}")
    try:
        data = pickle.dumps(outcome)
        while data:
            data = data[os.write(writing, data) :]
    except BaseException:
        code = 1
    os._exit(code)
