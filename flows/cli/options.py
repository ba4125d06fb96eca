"""What the commands of ``deaps`` share: options, settings, errors, and the way into a flow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from flows.presets import preset_names
from flows.runtime.console import echo
from storage.errors import DeapsError

if TYPE_CHECKING:
    from flows.config import Settings
    from flows.ingest.scan import Scan

Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Settings to start from: {', '.join(preset_names())}.",
        autocompletion=preset_names,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="TOML file of settings (default: deaps.toml, if there is one)."
    ),
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
    bool,
    typer.Option("--strict", help="Exit with 1 if anything was quarantined, flagged or missing."),
]

Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Encoder file, folder, or hf://owner/name (default: the shipped one).",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]
ToParquet = Annotated[
    Path | None, typer.Option("--parquet", metavar="FILE", help="Write the table to Parquet.")
]

P = ParamSpec("P")
_USAGE_ERROR = 2


def exit_on_error(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command, ending with one line where a person can mend what went wrong.

    Any other exception is a fault of ours and keeps its traceback.
    """

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except DeapsError as error:
            stop(str(error))
        except OSError as error:
            stop(_describe(error))

    return guarded


def _describe(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    return f"{error.strerror}: {os.fsdecode(error.filename)}" if error.filename else error.strerror


def stop(message: str) -> NoReturn:
    """Print a message on standard error and exit with 2."""
    echo(f"deaps: {message}", err=True)
    sys.exit(_USAGE_ERROR)


def settings_from(
    preset: str | None, config: Path | None, overrides: list[str] | None, *, quiet: bool = False
) -> Settings:
    """Return the settings that the options ask for, and say where they and the store are from."""
    from flows.config import load_settings

    settings = load_settings(preset=preset, config=config, overrides=overrides or ())
    if not quiet:
        announce(settings, preset, config, overrides)
    return settings


def announce(
    settings: Settings, preset: str | None, config: Path | None, overrides: list[str] | None
) -> None:
    """Print the store and where the settings come from, on standard error."""
    from flows.config import name_sources

    sources = name_sources(preset=preset, config=config, overrides=overrides or ())
    echo(f"store: {settings.store.root}, settings: {sources}", err=True)


def flow_arguments(
    preset: str | None, config: Path | None, overrides: list[str] | None
) -> dict[str, Any]:
    """Return where settings come from, as a flow's parameters, which are JSON."""
    text = str(config) if config else None
    return {"preset": preset, "config": text, "overrides": overrides}


@contextmanager
def flow_context(settings: Settings, scan: Scan | None = None) -> Iterator[None]:
    """Hand ``settings`` and ``scan`` to the flow that runs inside, and let Ctrl-C stop at once.

    Import flows inside, and call them by `run_flow`: Prefect takes seconds to import and to start.
    """
    echo("loading Prefect ...", err=True)
    from flows.runtime.flow_start import hand_over
    from flows.runtime.processes import stop_at_once

    with stop_at_once(), hand_over(settings, scan):
        yield
