"""Processes that end with the one that started them, however it ends.

``python -m flows.runtime.lifeline PID MODULE ...`` runs a module as ``python -m MODULE ...`` would,
and ends when process PID is no longer its parent. A note of a server, for the next start to find,
comes too late if its owner is killed between start and note; and the kernel's own signal
(PR_SET_PDEATHSIG) is sent when the *thread* ends that started a process.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

_LOOK_S = 0.3
_PATIENCE_S = 10.0


def tied_command(command: Sequence[str]) -> list[str]:
    """Return ``python -m MODULE ...`` as a command that ends with this process."""
    python, option, *rest = command
    if option != "-m":
        raise ValueError(f"command is {list(command)}; expected python -m MODULE ...")
    return [python, option, "flows.runtime.lifeline", str(os.getpid()), *rest]


class TiedSubprocess:
    """The module `subprocess` for code of others: what it starts with ``Popen`` ends with us."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, args: Sequence[str], **options: Any) -> subprocess.Popen[Any]:  # noqa: N802 - subprocess's name
        """Start a process that ends with this one."""
        return subprocess.Popen(tied_command(args), **options)


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
