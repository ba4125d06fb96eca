"""What is printed on the terminal: tables, and sentences while work goes on."""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
    from rich.segment import Segment


_WIDTH_ELSEWHERE = 120
"""Columns of a file or pipe, which has no width of its own."""

_NARROW = 80


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tabs and ends of lines, marks that turn text round, bytes of no text.
In names of files, people and labels they would move a terminal's cursor, colour it, or worse."""


def printable(text: str) -> str:
    r"""Return text as a terminal may have it: a control character becomes ``\x1b`` or the like."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print a line on standard output, or on standard error, without control characters."""
    import typer

    typer.echo(printable(str(text)), err=err)


def keep_any_text_printable() -> None:
    """Let a terminal that has no ``ü`` show an escape for it instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # not a text file, or in use
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def screen_width() -> int:
    """Return the columns of the terminal, of a pipe those of a common one."""
    return max(40, shutil.get_terminal_size((_NARROW, 24)).columns)


def console(*, stderr: bool = False) -> Console:
    """Return the console on standard output or error; what it prints has no control characters."""
    from rich.console import Console

    screen = Console(stderr=stderr)
    if not screen.is_terminal:
        screen = Console(stderr=stderr, width=_WIDTH_ELSEWHERE)
    screen.push_render_hook(cast("RenderHook", _PrintableHook()))
    return screen


class _PrintableHook:
    """Makes the text of everything printable, after markup and before colours."""

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        """Return the same things, each in a wrapper."""
        return [_Printable(each) for each in renderables]


class _Printable:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self.renderable = renderable

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        return self._segments(screen, options)

    def _segments(self, screen: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in screen.render(self.renderable, options):
            is_control = segment.control is not None
            yield segment if is_control else segment._replace(text=printable(segment.text))


def notify(text: str) -> None:
    """Print a sentence on standard error, so that standard output holds results alone.

    Inside a flow run Prefect's log has it, too. Nobody may be there to read it: a flow run
    outlives a worker that is killed.
    """
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{printable(text)}\n")
    log_line(text)


def log_line(text: str) -> None:
    """Send a line to the log of the flow run that this is part of; elsewhere do nothing.

    It goes to Prefect's server alone: the terminal has it already.
    """
    if "prefect" not in sys.modules:
        return
    from prefect.context import FlowRunContext, TaskRunContext
    from prefect.logging.handlers import APILogHandler

    context = FlowRunContext.get() or TaskRunContext.get()
    if context is None:
        return
    from prefect.logging.loggers import get_run_logger

    adapter = get_run_logger()
    if not isinstance(adapter, logging.LoggerAdapter):  # a test has put it away
        return
    _, extra = adapter.process(text, {})
    logger = logging.getLogger(adapter.logger.name)
    record = logger.makeRecord(
        logger.name, logging.INFO, __file__, 0, text, (), None, extra=extra.get("extra")
    )
    for handler in _handlers(logger):
        if isinstance(handler, APILogHandler):
            handler.handle(record)


def _handlers(logger: logging.Logger | None) -> list[logging.Handler]:
    """Return the handlers of a logger and of those above it."""
    found: list[logging.Handler] = []
    while logger is not None:
        found += logger.handlers
        logger = logger.parent if logger.propagate else None
    return found
