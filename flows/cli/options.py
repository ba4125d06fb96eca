"""What the commands of ``deaps`` share: options, settings, errors, and the way into a stage."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from flows.presets import preset_names
from flows.runtime.console import echo
from storage.errors import DeapsError
from storage.packages import extra_with

if TYPE_CHECKING:
    from flows.config import Settings
    from flows.ingest.scan import Scan
    from flows.runtime.run_context import RunContext

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
R = TypeVar("R")
_USAGE_ERROR = 2
_PIPE_CLOSED = 141
"""What a shell reports of a command that a closed pipe ended."""


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
        except BrokenPipeError:  # `| head` has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_PIPE_CLOSED)
        except OSError as error:
            stop(_describe(error))
        except ModuleNotFoundError as error:
            extra = extra_with(error.name or "")
            if extra is None:
                raise
            stop(
                f"{error.name} is not installed; run pip install 'deaps[{extra}]', "
                "or 'deaps[all]' for every command"
            )

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


def run_context(
    preset: str | None,
    config: Path | None,
    overrides: list[str] | None,
    settings: Settings,
    scan: Scan | None = None,
) -> RunContext:
    """Return what a stage needs: the settings, where they come from, and what is scanned."""
    from flows.runtime.run_context import RunContext, StageParameters

    text = str(config) if config else None
    return RunContext(settings, StageParameters(preset, text, overrides), scan)


def run_as_flow(
    name: str, body: Callable[[RunContext], R], context: RunContext, **parameters: Any
) -> R:
    """Do a command's work, as a flow run where a Prefect server is; Ctrl-C stops at once.

    ``parameters`` are shown in Prefect's pages besides those of every flow.
    """
    from flows.runtime.prefect_glue import run_command
    from flows.runtime.processes import stop_at_once

    with stop_at_once():
        shown = context.parameters.as_dict() | parameters
        return run_command(name, lambda: body(context), shown)
