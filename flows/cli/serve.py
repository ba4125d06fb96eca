"""``deaps serve``: deployments and schedules on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import Config, Preset, settings_from, stop
from flows.serve import DEFAULT_PORT


def serve(
    port: Annotated[
        int, typer.Option(help="Port of Prefect's pages; another free one if it is taken.")
    ] = DEFAULT_PORT,
    preset: Preset = None,
    config: Config = None,
) -> None:
    """Offer every deployment to ``prefect deployment run`` until stopped; run schedules.

    Example: deaps serve --port 4200
    """
    settings = settings_from(preset, config, None)
    from flows.runtime.prefect_server import ServerError
    from flows.serve import serve as serve_deployments

    try:
        serve_deployments(
            settings.refresh,
            port=port,
            say=lambda text: typer.echo(text, err=True),
            parameters=_parameters(preset, config),
        )
    except ServerError as error:
        stop(str(error))


def _parameters(preset: str | None, config: Path | None) -> dict[str, str]:
    """Return what every flow is told; flows run in this folder, too."""
    told = {"preset": preset, "config": str(config.resolve()) if config else None}
    return {name: value for name, value in told.items() if value}
