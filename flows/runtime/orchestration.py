"""Prefect where it is wanted, and the same work without it where it is not.

Prefect's history is for people to look at; the store decides what is done. So every stage is
plain functions. Inside a Prefect flow run they are tasks and sub-flows of it; outside of one
they are called directly. Nothing here imports Prefect before it has to: that takes a second.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

from flows.runtime.console import say
from flows.runtime.server_address import named_server
from storage.errors import DeapsError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def in_flow() -> bool:
    """Return whether this is part of a Prefect flow run."""
    if "prefect" not in sys.modules:
        return False
    from prefect.context import FlowRunContext, TaskRunContext

    return FlowRunContext.get() is not None or TaskRunContext.get() is not None


def opaque(value: T) -> T:
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

        One that fails does not stop the others. Inside a flow, its task runner says how many run
        at once, unless it is one.
        """
        if at_once == 1:
            return [_outcome(partial(cast("Any", self), *call)) for call in calls]
        if in_flow():
            futures = [self._task.submit(*call) for call in calls]
            for future in futures:
                future.wait()
            return [future.result for future in futures]
        with ThreadPoolExecutor(at_once) as pool:
            started = [pool.submit(cast("Any", self.fn), *call) for call in calls]
        return [each.result for each in started]

    @cached_property
    def _task(self) -> Any:
        from prefect import task
        from prefect.cache_policies import NO_CACHE

        as_task = task(cache_policy=NO_CACHE, persist_result=False, task_run_name=self._run_name)
        return as_task(self.fn)


def stage_task(run_name: str | None = None) -> Callable[[Callable[P, R]], StageTask[P, R]]:
    """Make a function a step of a stage; ``run_name`` may use its arguments, as in "{run.name}"."""
    return lambda fn: StageTask(fn, run_name)


def _outcome(call: Callable[[], R]) -> Callable[[], R]:
    """Call a function now; return one that returns or raises what it did."""
    try:
        result = call()
    except Exception as error:  # raised again where the caller asks for the result
        return _raiser(error)
    return lambda: result


def _raiser(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def call_stage(flow: Callable[..., R], **parameters: Any) -> R:
    """Call a flow as a sub-flow of the one that runs, or just its function outside of one."""
    function: Callable[..., R] = flow if in_flow() else cast("Any", flow).fn
    return function(**parameters)


def named(flow: Callable[P, R], name: str) -> Callable[P, R]:
    """Return a flow whose runs have a name of their own in Prefect's pages."""
    renamed: Callable[P, R] = cast("Any", flow).with_options(flow_run_name=name)
    return renamed


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


def run_flow(flow: Callable[..., R], **parameters: Any) -> R:
    """Run a flow; without a server that answers, say so in a line and do its work all the same.

    A server that goes away in the middle is no different: the work is called once more, and
    finds in the store what is done already.
    """
    from httpx import HTTPError

    from flows.runtime.prefect_server import server_problem

    _leave_known_errors_to_us()
    address = named_server()
    say(
        f"asking the Prefect server at {address} ..."
        if address
        else "starting Prefect's server ..."
    )
    if problem := server_problem():
        say(f"{problem}; working without Prefect")
        return call_stage(flow, **parameters)
    try:
        with _few_retries():
            return flow(**parameters)
    except HTTPError as error:
        say(f"Prefect's server is gone ({type(error).__name__}); going on without it")
        return call_stage(flow, **parameters)


@contextmanager
def _few_retries() -> Iterator[None]:
    """Let Prefect ask its own server again twice, not five times: each time takes longer.

    A server of its own that has ended never comes back; a named one may be restarted.
    """
    from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    if named_server() is not None:
        yield
        return
    with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 2}):
        yield


def _leave_known_errors_to_us() -> None:
    """Keep Prefect from printing tracebacks of errors that a person can mend, or need not.

    The command prints the message of the former, a full disk's too, in one line, and works on
    without a server that is gone; a fault of ours keeps its traceback.
    """
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_is_unknown)
    for name in ("prefect.events.clients", "prefect._internal.concurrency"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _is_unknown(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, DeapsError | OSError) or is_server_gone(error))


def is_server_gone(error: BaseException | None) -> bool:
    """Return whether an error means that Prefect's server does not answer."""
    from httpx import HTTPError

    return isinstance(error, HTTPError)
