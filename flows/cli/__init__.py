"""The ``deaps`` command."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.data import channels, fetch, init, preprocess, scan, synth
from flows.cli.models import embed, export, pack, train, unpack
from flows.cli.options import exit_on_error
from flows.cli.pipeline import deploy, evaluate, report, run, serve
from flows.cli.reference import config, schema
from flows.cli.store import croissant, doctor, gc, query, show, status, trace
from flows.runtime.console import echo, keep_any_text_printable

app = typer.Typer(
    name="deaps",
    help="From raw ECG recordings to quality-scored windows, representations and a report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: rich would double the time that --help takes
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS = (
    *(init, channels, run),
    *(synth, fetch, scan, preprocess, train, evaluate, report),
    *(embed, export, pack, unpack, query, show, schema, config, trace, croissant, doctor, gc),
    *(serve, deploy, status),
)
for command in _COMMANDS:
    app.command()(exit_on_error(command))


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        echo(f"deaps {version('deaps')}")
        raise typer.Exit


@app.callback()
def _all_commands(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    keep_any_text_printable()
    app()
