"""Commands that ask and look after a store: each is a thin shell over one library call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import (
    AsJson,
    Config,
    Encoder,
    Overrides,
    Preset,
    ToParquet,
    settings_from,
    stop,
)
from flows.runtime.console import echo

_INTERRUPTED = 130


def query(
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="One SELECT (or FROM ..., or EXPLAIN).")
    ],
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of a table.")] = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Ask the index a question in SQL; it cannot change anything.

    Example: deaps query "SELECT rhythm, count(*) FROM windows GROUP BY rhythm"
    """
    from flows.cli.output import ROWS_ASKED, print_csv, print_table, require_parquet, write_rows
    from storage.query import run_query

    store = settings_from(preset, config, overrides).store
    if parquet is not None:
        require_parquet(parquet)
    try:
        table = run_query(
            store.root,
            sql,
            limit=None if csv or json or parquet else ROWS_ASKED,
            seconds=store.query_seconds,
            megabytes=store.query_megabytes,
        )
    except KeyboardInterrupt:
        echo("deaps: stopped", err=True)
        # A statement that does not end would keep the process at its end.
        os._exit(_INTERRUPTED)
    if not write_rows(table, json=json, parquet=parquet):
        (print_csv if csv else print_table)(table)


def show(
    what: Annotated[
        str | None,
        typer.Argument(metavar="WHAT", help="A recording, RECORDING:ROW[,ROW...], or a subject."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PNG or SVG file to write (default: both).")
    ] = None,
    encoder: Encoder = None,
    files: Annotated[
        bool, typer.Option("--files/--no-files", help="Whether to write picture files, too.")
    ] = True,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Draw a night, windows of it, or a subject's visits.

    It draws in the terminal, and writes a PNG and an SVG. Without WHAT it
    lists the recordings, as a table, JSON or Parquet.

    Example: deaps show shhs1-200001 --no-files
    """
    settings = settings_from(preset, config, overrides)
    from flows.runtime.console import screen_width
    from flows.show import list_recordings
    from flows.show import show as draw

    if what is None:
        import pyarrow as pa

        from flows.cli.output import print_table, write_rows

        rows = list_recordings(settings.store.root)
        if not write_rows(rows, json=json, parquet=parquet):
            print_table(pa.Table.from_pylist(rows), ways="--json, --parquet FILE")
        return
    shown = draw(settings, what, encoder, out, files=files, width=screen_width())
    echo("\n".join(shown.lines))
    for path in shown.paths:
        echo(str(path))


def trace(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT", help="Report (or newest), or window: dataset/recording/row."
        ),
    ],
    figure: Annotated[
        str | None,
        typer.Argument(metavar="FIGURE", help="Of a report: benchmark/representation[/metric]."),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Show where a figure of a report, or a window, comes from.

    It names runs, encoders, settings and the hashes of the source files.
    "newest" is the newest report.

    Example: deaps trace newest afib-transfer/deaps/accuracy
    """
    from flows.cli.output import write_rows
    from flows.experiment.provenance import trace_figure, trace_window

    root = settings_from(preset, config, overrides).store.root
    if figure is None:
        lines = trace_window(root, what)
    else:
        lines = trace_figure(root, None if what == "newest" else what, figure)
    rows = [{"what": name, "value": value} for name, value in lines]
    if not write_rows(rows, json=json, parquet=parquet):
        for name, value in lines:
            echo(f"{name}: {value}")


def croissant(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write (default: croissant.json in the store)."),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Describe the store in Croissant, a format for data sets.

    Programs that find and load data sets read it. It names data sets, columns
    and files, but no people and no recordings.

    Example: deaps croissant --set store.root=/data/store
    """
    from preprocessing.datasets import DATASETS
    from storage.croissant import write_croissant

    root = settings_from(preset, config, overrides).store.root
    labels = {name: dataset.label for name, dataset in DATASETS.items()}
    echo(str(write_croissant(root, labels=labels, out=out)))


def doctor(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Also read and hash every file.")
    ] = False,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also compare index, window files and data sets."),
    ] = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Check the store; exit with 1 if something is wrong.

    Example: deaps doctor --verify
    """
    from dataclasses import asdict

    from flows.cli.output import write_rows

    settings = settings_from(preset, config, overrides)
    if deep:
        from flows.ingest.summary import check_deeply

        findings = list(check_deeply(settings))
    else:
        from storage.maintenance import check_store

        findings = check_store(settings.store.root, verify=verify)
    errors = sum(finding.is_error for finding in findings)
    rows = [asdict(finding) | {"is_error": finding.is_error} for finding in findings]
    if not write_rows(rows, json=json, parquet=parquet):
        for finding in findings:
            echo(str(finding))
        spare = len(findings) - errors
        echo(f"{errors} errors, {spare} remarks" if findings else "store OK")
    if errors:
        raise typer.Exit(1)


def gc(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Remove files that nothing uses, and old logs.

    These are window files that neither the index nor a run uses, checkpoints
    of finished runs, and unfinished files.

    Example: deaps gc --dry-run
    """
    from flows.cli.output import write_rows
    from storage.maintenance import remove_unused_files

    store = settings_from(preset, config, overrides).store
    removed = remove_unused_files(store.root, dry_run=dry_run, keep_logs_days=store.keep_logs_days)
    rows = [{"path": str(path), "removed": not dry_run} for path in removed]
    if write_rows(rows, json=json, parquet=parquet):
        return
    for path in removed:
        echo(str(path))
    echo(f"{len(removed)} files {'would be ' if dry_run else ''}removed")


def status(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    json: AsJson = False,
    parquet: ToParquet = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show stages, runs and workers until Ctrl-C.")
    ] = False,
) -> None:
    """Show what is published and running, disk use and problems.

    Example: deaps status --set store.root=/data/store
    """
    root = settings_from(preset, config, overrides).store.root
    if not root.is_dir():
        stop(f"no store at {root}; run deaps preprocess, or name another with --set store.root=")
    from flows.cli.output import write_parquet
    from flows.cli.status import as_json, as_rows, render
    from flows.monitoring.status import store_status
    from flows.runtime.console import console

    if watch:
        from flows.cli.status import watch as watch_store

        watch_store(root, console())
        return
    state = store_status(root)
    if parquet is not None:
        write_parquet(as_rows(state), parquet)
    if json:
        echo(as_json(state))
    elif parquet is None:
        console().print(render(state))
