"""What the commands of ``deaps`` share: options, settings, and the way to stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from flows.config import ConfigError, Settings, load_settings, preset_names

Preset = Annotated[
    str | None, typer.Option(help=f"Settings to start from: {', '.join(preset_names())}.")
]
Config = Annotated[
    Path | None, typer.Option(help="TOML file of settings (default: deaps.toml, if there is one).")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="SECTION.KEY=VALUE", help="Override one setting; may be repeated."
    ),
]
Only = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this data set; may be repeated.")
]
Strict = Annotated[
    bool, typer.Option(help="Exit with 1 if anything was set aside, flagged or missing.")
]

_USAGE_ERROR = 2


def settings_from(preset: str | None, config: Path | None, overrides: list[str] | None) -> Settings:
    """Return the settings that the options ask for, or stop with the reason."""
    try:
        return load_settings(preset=preset, config=config, overrides=overrides or ())
    except ConfigError as error:
        stop(str(error))


def stop(message: str) -> NoReturn:
    """Print a message on standard error and exit with 2."""
    typer.echo(f"deaps: {message}", err=True)
    sys.exit(_USAGE_ERROR)
