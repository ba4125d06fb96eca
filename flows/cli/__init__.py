"""The ``deaps`` command."""

from __future__ import annotations

import typer

from flows.cli.data import fetch, init, preprocess, scan, synth
from flows.cli.models import embed, export, train
from flows.cli.options import exit_on_error
from flows.cli.pipeline import deploy, evaluate, report, run, serve
from flows.cli.store import doctor, gc, query, show, status, trace

app = typer.Typer(
    name="deaps",
    help="From raw ECG recordings to quality-scored windows, representations and a report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: rich would double the time that --help takes
    add_completion=False,
)

_COMMANDS = (
    *(init, run),
    *(synth, fetch, scan, preprocess, train, evaluate, report),
    *(embed, export, query, show, trace, doctor, gc, serve, deploy, status),
)
for command in _COMMANDS:
    app.command()(exit_on_error(command))


def main() -> None:
    """Run the command line."""
    app()
