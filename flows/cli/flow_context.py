"""What a command does around the flow that it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from flows.cli.options import stop


@contextmanager
def around_flow() -> Iterator[None]:
    """Make sure that Prefect's server answers, and let Ctrl-C stop at once.

    Flows are to be imported inside: Prefect takes seconds to import and to start.
    """
    typer.echo("starting Prefect and the workers ...", err=True)
    from flows.runtime.interrupt import stop_at_once
    from flows.runtime.prefect_server import ServerError, require_server

    try:
        require_server()
    except ServerError as error:
        stop(str(error))
    with stop_at_once():
        yield
