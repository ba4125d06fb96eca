"""Lines of the terminal in the log of a Prefect flow run, too."""

from __future__ import annotations

import logging
import sys


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
