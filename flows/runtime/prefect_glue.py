"""Prefect where a server is, and the same work without it where none is.

Prefect's history is for people to look at; the store decides what is done. So every stage is a
plain function. Where a server is named, by ``PREFECT_API_URL`` or by the ``deaps serve`` of this
folder, a command is a flow run there, its stages are flow runs below it and their steps are tasks;
elsewhere the same functions are called directly. Nothing here imports Prefect before it has to:
that takes a second.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property, partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast
from uuid import UUID

from flows.runtime.console import notify
from flows.runtime.processes import keep_stopping_at_once
from flows.runtime.server_address import named_server
from storage.errors import DeapsError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_ANSWER_S = 20.0
"""How long a named server may take to answer the first question; it is asked twice."""


def in_flow() -> bool:
    """Return whether this is part of a Prefect flow run."""
    if "prefect" not in sys.modules:
        return False
    from prefect.context import FlowRunContext, TaskRunContext

    return FlowRunContext.get() is not None or TaskRunContext.get() is not None


def run_command(name: str, body: Callable[[], R], parameters: Mapping[str, Any]) -> R:
    """Do a command's work: as a flow run where a server is named and answers, else directly.

    A server that goes away in the middle stops nothing: the work is called once more, and finds
    in the store what is done already.
    """
    address = named_server()
    if address is None:
        notify("no Prefect server here; to watch runs in its pages, start `deaps serve` first")
        return body()
    from httpx import HTTPError

    notify(f"asking the Prefect server at {address} ...")
    if problem := server_problem():
        notify(f"{problem}; working without Prefect")
        return body()
    _hide_known_errors()
    try:
        return _as_flow(name, body, parameters)
    except HTTPError as error:
        notify(f"Prefect's server is gone ({type(error).__name__}); going on without it")
        return body()


def run_stage(
    name: str, body: Callable[[], R], parameters: Mapping[str, Any], *, run_name: str
) -> R:
    """Do a stage's work: as a flow run below the one that runs, or directly outside of one."""
    return _as_flow(name, body, parameters, run_name) if in_flow() else body()


def _as_flow(
    name: str, body: Callable[[], R], parameters: Mapping[str, Any], run_name: str | None = None
) -> R:
    """Run a function as a flow run, which shows ``parameters`` but is not given them."""
    from prefect import flow

    def stage(**_: Any) -> R:
        keep_stopping_at_once()
        return body()

    shown = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    stage.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    as_flow = flow(name=name, flow_run_name=run_name, validate_parameters=False)
    result: R = cast("Any", as_flow(stage))(**parameters)
    return result


def skip_stage(name: str, why: str) -> None:
    """Show a stage with nothing to do in Prefect's pages, without importing what it would need."""
    if not in_flow():
        return
    from prefect import flow
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
    from prefect.states import Completed

    skipped = flow(name=name, flow_run_name=f"{name.removeprefix('deaps-')}: nothing to do")
    # Prefect waits up to a second for a run's heart to stop.
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        skipped(lambda: Completed(name="Skipped", message=why))()


def unmapped(value: T) -> T:
    """Return an argument for a task that Prefect does not look into.

    Prefect walks through lists and dataclasses among a task's arguments to find futures, which
    takes seconds for thousands of recordings.
    """
    if not in_flow():
        return value
    from prefect.utilities.annotations import quote

    return cast("T", quote(value))


class StageTask(Generic[P, R]):
    """A step of a stage: a Prefect task inside a flow run, a plain call outside."""

    def __init__(self, fn: Callable[P, R], run_name: str | None) -> None:
        self.fn = fn
        self._run_name = run_name
        update_wrapper(self, fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the step and return its result."""
        if not in_flow():
            return self.fn(*args, **kwargs)
        result: R = self._task(*args, **kwargs)
        return result

    def run_all(self, calls: Sequence[tuple[Any, ...]], *, at_once: int) -> list[Callable[[], R]]:
        """Run every call, some at once; return functions that return or raise what each did.

        One that fails does not stop the others.
        """
        return run_side_by_side(self, calls, at_once=at_once)

    @cached_property
    def _task(self) -> Any:
        from prefect import task
        from prefect.cache_policies import NO_CACHE

        as_task = task(cache_policy=NO_CACHE, persist_result=False, task_run_name=self._run_name)
        return as_task(self.fn)


def stage_task(run_name: str | None = None) -> Callable[[Callable[P, R]], StageTask[P, R]]:
    """Make a function a step of a stage; ``run_name`` may use its arguments, as in "{run.name}"."""
    return lambda fn: StageTask(fn, run_name)


def run_side_by_side(
    function: Callable[..., R], calls: Sequence[tuple[Any, ...]], *, at_once: int
) -> list[Callable[[], R]]:
    """Call a function with each tuple of arguments, some at once, in the flow run that is here.

    Return functions that return or raise what each call did; one alone runs in the main thread,
    which takes signals.
    """
    if at_once == 1:
        return [_outcome(partial(function, *call)) for call in calls]
    with ThreadPoolExecutor(at_once) as threads:
        started = [threads.submit(copy_context().run, function, *call) for call in calls]
    return [each.result for each in started]


def _outcome(call: Callable[[], R]) -> Callable[[], R]:
    """Call a function now; return one that returns or raises what it did."""
    try:
        result = call()
    except Exception as error:  # raised again where the caller asks for the result
        caught = error

        def fail() -> R:
            raise caught

        return fail
    return lambda: result


def require_server() -> None:
    """Make sure that the server which Prefect is set to use answers and lets us in.

    Raises
    ------
    DeapsError
        If it does not.
    """
    if problem := server_problem():
        raise DeapsError(f"{problem}; start it, or unset PREFECT_API_URL")


def server_problem() -> str | None:
    """Return why the server that Prefect is set to use does not answer, None if it does.

    Raises
    ------
    DeapsError
        If it answers but does not let us in: the password is for a person to mend.
    """
    from httpx import HTTPStatusError
    from prefect.client.orchestration import get_client
    from prefect.settings import (
        PREFECT_API_REQUEST_TIMEOUT,
        PREFECT_CLIENT_MAX_RETRIES,
        temporary_settings,
    )

    # Prefect would ask a server that never answers for seven minutes.
    patience = {PREFECT_API_REQUEST_TIMEOUT: _ANSWER_S, PREFECT_CLIENT_MAX_RETRIES: 1}
    try:
        with temporary_settings(patience), get_client(sync_client=True) as client:
            client.raise_for_api_version_mismatch()
    except HTTPStatusError as error:
        raise DeapsError(
            f"Prefect's server answers {error.response.status_code}; set PREFECT_API_AUTH_STRING "
            "to what it has as PREFECT_SERVER_API_AUTH_STRING"
        ) from None
    except RuntimeError as error:
        return f"no Prefect server: {error}"
    return None


def is_server_gone(error: BaseException | None) -> bool:
    """Return whether an error means that Prefect's server does not answer."""
    from httpx import HTTPError

    return isinstance(error, HTTPError)


def _hide_known_errors() -> None:
    """Keep Prefect from printing tracebacks of errors that a person can mend, or need not.

    The command prints the message of the former, a full disk's too, in one line, and works on
    without a server that is gone; a fault of ours keeps its traceback.
    """
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_is_unknown)
    # By a filter, because Prefect resets the levels of its loggers when a flow starts.
    for name in ("prefect.events.clients", "prefect._internal.concurrency"):
        logging.getLogger(name).addFilter(_is_critical)


def _is_critical(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.CRITICAL


def _is_unknown(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, DeapsError | OSError) or is_server_gone(error))


_given_up = False
"""Whether the server did not take an artifact: each further try would cost a minute."""


def publish_table(rows: Sequence[dict[str, Any]], *, key: str, description: str) -> None:
    """Publish a table in Prefect's pages."""

    def publish() -> None:
        from prefect.artifacts import create_table_artifact

        create_table_artifact(list(rows), key=key, description=description)

    _publish(publish)


def publish_text(markdown: str, *, key: str) -> None:
    """Publish a page of Markdown."""

    def publish() -> None:
        from prefect.artifacts import create_markdown_artifact

        create_markdown_artifact(markdown, key=key)

    _publish(publish)


def publish_link(url: str, *, key: str, text: str, description: str) -> None:
    """Publish a link."""

    def publish() -> None:
        from prefect.artifacts import create_link_artifact

        create_link_artifact(url, key=key, link_text=text, description=description)

    _publish(publish)


def publish_progress(key: str) -> UUID | None:
    """Publish a progress bar at 0 %; return its id, None if there is none."""

    def publish() -> UUID | None:
        from prefect.artifacts import create_progress_artifact

        created = create_progress_artifact(0.0, key=key)
        return created if isinstance(created, UUID) else None

    return _publish(publish)


def move_progress(artifact: UUID | None, percent: float) -> None:
    """Move a progress bar."""

    def publish() -> None:
        from prefect.artifacts import update_progress_artifact

        if artifact is not None:
            update_progress_artifact(artifact, percent)

    _publish(publish)


def _publish(publish: Callable[[], T]) -> T | None:
    """Do it inside a flow run whose server answers; work never stops for a picture of it."""
    global _given_up  # one server for the whole process
    if _given_up or not in_flow():
        return None
    from httpx import HTTPError

    try:
        return publish()
    except HTTPError as error:
        _given_up = True
        notify(f"Prefect's server takes no artifacts ({type(error).__name__}); going on without")
        return None
