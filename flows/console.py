"""The terminal that tables are printed on."""

from __future__ import annotations

from rich.console import Console

_WIDTH_ELSEWHERE = 120
"""Columns of a file or pipe, which has no width of its own."""


def console() -> Console:
    """Return the console on standard output."""
    screen = Console()
    return screen if screen.is_terminal else Console(width=_WIDTH_ELSEWHERE)
