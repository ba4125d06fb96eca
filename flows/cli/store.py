"""The commands that look after a running store: each is a thin shell over one library call."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.options import Config, Overrides, Preset, settings_from, stop


def status(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Show what is published, what is running, the last refresh, disk use and recent problems.

    Example: deaps status --set store.root=/data/store
    """
    root = settings_from(preset, config, overrides).store.root
    if not root.is_dir():
        stop(f"no store at {root}; run deaps preprocess, or name another with --set store.root=")
    from flows.cli.status_screen import as_json, render
    from flows.monitoring.status import store_status
    from flows.runtime.console import console

    try:
        found = store_status(root)
    except OSError as error:
        stop(f"cannot look at {root}: {error.strerror}")
    if json:
        typer.echo(as_json(found))
    else:
        console().print(render(found))
