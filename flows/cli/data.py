"""The commands of the data half: each is a thin shell over one library call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.flow_context import around_flow
from flows.cli.options import Config, Only, Overrides, Preset, Strict, settings_from, stop
from flows.config import ConfigError, Settings
from flows.ingest.demo_data import DEMO_DATA
from flows.monitoring.event_log import EventLog
from flows.monitoring.stage_events import log_unchanged

if TYPE_CHECKING:
    from flows.ingest.scan import Scan


def synth(
    to: Annotated[Path, typer.Option(help="Folder that gets one for each data set.")] = DEMO_DATA,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Write a synthetic cohort: every data set in its own folder tree and formats.

    Example: deaps synth --to demo-data --set synth.shhs_subjects=40
    """
    from flows.runtime.dask_pool import local_workers
    from preprocessing.synth import write_cohort

    settings = settings_from(preset, config, overrides)
    written = write_cohort(to, settings.synth, workers=local_workers(settings.execution))
    for name, root in written.items():
        typer.echo(f"{name}: {root}")


def fetch(
    name: Annotated[str, typer.Argument(help="Data set, e.g. mitdb; another word lists them all.")],
    to: Annotated[Path | None, typer.Option(help="Folder (default: data/NAME).")] = None,
) -> None:
    """Download an open data set from PhysioNet; for SHHS, tell the steps.

    Example: deaps fetch mitdb
    """
    from preprocessing.fetch import NotFetchableError
    from preprocessing.fetch import fetch as fetch_dataset

    folder = to or Path("data") / name
    try:
        fetch_dataset(name, folder)
    except NotFetchableError as error:
        stop(str(error))
    except OSError as error:
        stop(f"cannot download {name}: {error}")
    typer.echo(f"{name} is in {folder}; preprocess it with --set data.{name}={folder}")


def scan(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    only: Only = None,
    verbose: Annotated[bool, typer.Option(help="Name every recording.")] = False,
) -> None:
    """Print what preprocess would do, and why, without doing it.

    Example: deaps scan --set data.shhs=/data/shhs
    """
    _print_scan(_scan(settings_from(preset, config, overrides), only), verbose=verbose)


def preprocess(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    only: Only = None,
    strict: Strict = False,
    verify: Annotated[
        bool, typer.Option(help="Hash every source file, also where size and times are the same.")
    ] = False,
) -> None:
    """Bring the store up to date with the data sets and publish the index.

    Example: deaps preprocess --set data.shhs=/data/shhs --set store.root=/data/store
    """
    settings = settings_from(preset, config, overrides)
    found = _scan(settings, only, verify=verify)
    for dataset in found.datasets:
        if dataset.problem:
            typer.echo(f"{dataset.job.dataset}: {dataset.problem}: skipped", err=True)
    if found.without_data:
        stop("none of the configured data sets is there")
    if found.nothing_to_do:
        n_recordings = sum(len(dataset.found) for dataset in found.datasets)
        typer.echo(f"nothing to do: {n_recordings:,} recordings are up to date")
        log_unchanged(EventLog(settings.store.root), found)
    else:
        _run_flow(preset, config, overrides, only, verify=verify)
        _print_summary(settings)
    if strict and _anything_wrong(settings, found):
        raise typer.Exit(1)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT (or FROM ..., or EXPLAIN).")],
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of a table.")] = False,
) -> None:
    """Ask the index a question in SQL; nothing can be changed by it.

    Example: deaps query "SELECT rhythm, count(*) FROM windows GROUP BY rhythm"
    """
    import duckdb

    from flows.cli.output import ROWS_ASKED, print_csv, print_table
    from storage.query import run_query

    settings = settings_from(preset, config, overrides)
    try:
        table = run_query(settings.store.root, sql, limit=None if csv else ROWS_ASKED)
    except (duckdb.Error, OSError, ValueError) as error:
        stop(str(error))
    (print_csv if csv else print_table)(table)


def doctor(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    verify: Annotated[bool, typer.Option(help="Read and hash every file, too.")] = False,
) -> None:
    """Check that the store is whole; exit with 1 if it is not.

    Example: deaps doctor --verify
    """
    from storage.care.doctor import check_store

    findings = check_store(settings_from(preset, config, overrides).store.root, verify=verify)
    errors = sum(finding.is_error for finding in findings)
    for finding in findings:
        typer.echo(str(finding))
    spare = len(findings) - errors
    typer.echo(f"{errors} errors, {spare} spare files" if findings else "the store is whole")
    if errors:
        raise typer.Exit(1)


def gc(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    dry_run: Annotated[bool, typer.Option(help="Only list what would be removed.")] = False,
) -> None:
    """Remove window files that neither the index nor a run names, and old logs.

    Example: deaps gc --dry-run
    """
    from storage.care.garbage import collect_garbage
    from storage.locks import StoreBusyError

    store = settings_from(preset, config, overrides).store
    try:
        removed = collect_garbage(store.root, dry_run=dry_run, keep_logs_days=store.keep_logs_days)
    except (StoreBusyError, OSError, ValueError) as error:
        stop(str(error))
    for path in removed:
        typer.echo(str(path))
    typer.echo(f"{len(removed)} files {'would be ' if dry_run else ''}removed")


def _scan(settings: Settings, only: list[str] | None, *, verify: bool = False) -> Scan:
    from flows.ingest.scan import scan as scan_data

    try:
        return scan_data(settings, only or (), verify=verify)
    except ConfigError as error:
        stop(str(error))


def _run_flow(
    preset: str | None,
    config: Path | None,
    overrides: list[str] | None,
    only: list[str] | None,
    *,
    verify: bool,
) -> None:
    import duckdb

    from flows.runtime.dask_pool import NoSchedulerError

    try:
        with around_flow():
            from flows.preprocess import preprocess as preprocess_flow

            preprocess_flow(
                preset=preset,
                config=str(config) if config else None,
                overrides=overrides,
                only=only,
                verify=verify,
            )
    except (ConfigError, NoSchedulerError) as error:
        stop(str(error))
    except (OSError, ValueError, duckdb.Error) as error:
        stop(f"the store cannot be written: {error}; what was done is kept, run it again")


def _print_scan(found: Scan, *, verbose: bool) -> None:
    from flows.ingest.scan import why_counts

    for dataset in found.datasets:
        name = dataset.job.dataset
        if dataset.problem:
            typer.echo(f"{name}: {dataset.problem}: skipped")
            continue
        reasons = [f"{n} to do ({why})" for why, n in why_counts(dataset).items()]
        if dataset.removed:
            reasons.append(f"{len(dataset.removed)} gone from the source")
        if dataset.tables_changed:
            reasons.append("tables changed: facts are joined anew")
        typer.echo(f"{name}: {len(dataset.found)} recordings; {'; '.join(reasons) or 'up to date'}")
        if verbose:
            for recording, why in dataset.todo.items():
                typer.echo(f"  {recording}: {why}")
            for recording in dataset.removed:
                typer.echo(f"  {recording}: gone")


def _print_summary(settings: Settings) -> None:
    from flows.ingest.summary import render, summarise
    from flows.runtime.console import console
    from storage.layout import index_path

    console().print(render(summarise(settings.store.root)))
    typer.echo(f"index: {index_path(settings.store.root)}")


def _anything_wrong(settings: Settings, found: Scan) -> bool:
    from flows.ingest.summary import summarise

    missing = any(dataset.problem for dataset in found.datasets)
    return missing or not summarise(settings.store.root).clean
