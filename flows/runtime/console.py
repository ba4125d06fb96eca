"""What is printed on the terminal: tables, and sentences while work goes on."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from flows.runtime.flow_log import log_line

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_ELSEWHERE = 120
"""Columns of a file or pipe, which has no width of its own."""

_NARROW = 80


def screen_width() -> int:
    """Return the columns of the terminal, of a pipe those of a common one."""
    return max(40, shutil.get_terminal_size((_NARROW, 24)).columns)


def console() -> Console:
    """Return the console on standard output."""
    from rich.console import Console

    screen = Console()
    return screen if screen.is_terminal else Console(width=_WIDTH_ELSEWHERE)


def say(text: str) -> None:
    """Print a sentence on standard error, so that standard output holds results alone.

    Inside a flow run Prefect's log has it, too. Nobody may be there to read it: a flow run
    outlives a worker that is killed.
    """
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
    log_line(text)
