"""Commands that read data sets: each is a thin shell over one library call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import (
    AsJson,
    Config,
    Only,
    Overrides,
    Preset,
    Strict,
    ToParquet,
    run_as_flow,
    run_context,
    settings_from,
)
from flows.ingest.demo_data import DEMO_DATA
from flows.runtime.console import echo

if TYPE_CHECKING:
    from flows.config import Settings
    from flows.ingest.scan import DatasetScan, Scan
    from flows.init import FirstLook
    from preprocessing.recording import CohortTables


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder with your recordings, at any depth.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace subjects.csv and deaps.toml.")
    ] = False,
) -> None:
    """Start with your own recordings: subjects.csv, deaps.toml.

    It looks at a folder and writes both files. Files that are there already
    stay as they are. If the folder is read-only, it writes subjects.csv into
    the working folder.

    Example: deaps init /my/recordings
    """
    from flows.init import init_folder

    look = init_folder(folder, overwrite=overwrite)
    for line in _first_look(look, folder):
        echo(line)


def _first_look(look: FirstLook, folder: Path) -> Iterator[str]:
    formats = ", ".join(f"{n:,} {name}" for name, n in look.formats.items())
    found = "1 recording" if look.n_recordings == 1 else f"{look.n_recordings:,} recordings"
    yield f"{found} below {folder}: {formats}"
    if look.without_header:
        n, example = len(look.without_header), look.without_header[0]
        yield f"signal files without a .hea header, which are not read: {n:,}, e.g. {example}"
    if look.table_written:
        filled = ", ".join(f"{name} of {n:,}" for name, n in look.guessed.items() if n)
        yield f"wrote {look.table}: a row for each; filled in: {filled or 'nothing but file'}"
        yield "  complete it if you know more; a row without a subject counts as a separate person"
    else:
        yield f"kept {look.table}, which was there"
    how = "wrote" if look.config_written else "kept"
    yield f"{how} {look.config}{'' if look.config_written else ', which was there'}"
    source = "".join(f" --set {override}" for override in look.overrides)
    yield "next:"
    yield f"  deaps scan{source}: check the table, and print what would be done"
    yield f"  deaps preprocess{source}: read, filter and score every recording"
    yield "  deaps embed folder: 128 numbers for each 10 s, in folder.embeddings.parquet"


def channels(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recording's file, or a record's name.")
    ],
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """List the channels of a file, and which of them is read.

    Labels are printed as the header has them, and stored nowhere.

    Example: deaps channels night.edf
    """
    from flows.cli.output import write_rows
    from preprocessing.user_folder.files import list_channels, opened_file

    settings = settings_from(preset, config, overrides)
    roots = [Path(), *settings.data.roots().values()]  # reasons name files below their root
    file = next((path for root in roots if (path := root / file).exists()), file)
    rows = list_channels(opened_file(file), settings.signal.labels())
    if write_rows([row._asdict() for row in rows], json=json, parquet=parquet):
        return
    for row in rows:
        echo(f"{row.label} ({row.fs:g} Hz){': read as the ECG' if row.is_read else ''}")
    if not any(row.is_read for row in rows):
        echo("none is read; name one: --set signal.channels_add=LABEL, or in deaps.toml")


def synth(
    to: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder to write to; each data set gets one in it."),
    ] = DEMO_DATA,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Write a synthetic cohort, in the data sets' own formats.

    Example: deaps synth --to demo-data --set synth.shhs_subjects=40
    """
    settings = settings_from(preset, config, overrides)
    from flows.runtime.dask_pool import local_workers
    from flows.runtime.processes import stop_at_once
    from flows.runtime.progress import StageProgress
    from preprocessing.synth import write_cohort

    with stop_at_once(), StageProgress("synthetic records", 0, key="synth") as bar:
        workers = local_workers(settings.execution)
        written = write_cohort(to, settings.synth, workers=workers, progress=bar.move)
    for name, root in written.items():
        echo(f"{name}: {root}")


def fetch(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Data set, such as mitdb; an unknown name prints the valid ones."
        ),
    ],
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder (default: data/NAME).")
    ] = None,
) -> None:
    """Download an open data set; for SHHS, print the access steps.

    Example: deaps fetch mitdb
    """
    from preprocessing.datasets import fetch_dataset

    folder = to or Path("data") / name
    fetch_dataset(name, folder)
    echo(f"{name} is in {folder}; preprocess it with --set data.{name}={folder}")


def scan(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    only: Only = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Name every recording.")] = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Check tables; print what preprocess would do, and why.

    It changes nothing, and exits with 1 if a configured data set is not there.

    Example: deaps scan --set data.shhs=/data/shhs
    """
    from flows.cli.output import write_rows
    from flows.ingest.publication import read_tables
    from flows.ingest.scan import recording_rows
    from flows.ingest.scan import scan as scan_data

    scanned = scan_data(settings_from(preset, config, overrides), only or ())
    if not write_rows(recording_rows(scanned), json=json, parquet=parquet):
        for dataset in scanned.datasets:
            tables = None if dataset.problem else read_tables(dataset)
            _print_dataset(dataset, tables, verbose=verbose)
    missing = [dataset for dataset in scanned.datasets if dataset.problem]
    for dataset in missing if json or parquet else ():
        echo(f"{dataset.job.dataset}: {dataset.problem}", err=True)
    if missing:
        raise typer.Exit(1)


def preprocess(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    only: Only = None,
    strict: Strict = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Hash every source file, also where size and times are the same."
        ),
    ] = False,
) -> None:
    """Bring the store up to date and publish the index.

    Example: deaps preprocess --set data.shhs=/data/shhs
    """
    from flows.ingest.scan import scan as scan_data

    settings = settings_from(preset, config, overrides)
    scanned = scan_data(settings, only or (), verify=verify)
    for dataset in scanned.datasets:
        if dataset.problem:
            echo(f"{dataset.job.dataset}: {dataset.problem}: skipped", err=True)
    scanned.require_data()
    if scanned.nothing_to_do:
        _print_up_to_date(settings, scanned)
    elif _takes_seconds(settings, scanned):
        from flows.ingest.refresh import refresh_store
        from flows.runtime.processes import stop_at_once

        with stop_at_once():
            refresh_store(settings, scanned, only=only or (), verify=verify)
        _print_summary(settings)
    else:
        from flows.preprocess import preprocess as run_stage

        context = run_context(preset, config, overrides, settings, scanned)
        run_as_flow(
            "deaps-preprocess",
            partial(run_stage, only=only or (), verify=verify),
            context,
            only=only,
            verify=verify,
        )
        _print_summary(settings)
    if strict and _anything_wrong(settings, scanned):
        raise typer.Exit(1)


def _takes_seconds(settings: Settings, scanned: Scan) -> bool:
    """Return whether the work is small, with nothing to follow and nobody to watch it.

    Then it needs neither Prefect nor workers, which would take most of the time.
    """
    from flows.ingest.refresh import is_small
    from flows.runtime.server_address import named_server

    is_alone = settings.refresh.then == "nothing" and named_server() is None
    return is_alone and is_small(settings, scanned.todo())


def _print_dataset(dataset: DatasetScan, tables: CohortTables | None, *, verbose: bool) -> None:
    from flows.ingest.scan import why_counts

    name = dataset.job.dataset
    if dataset.problem:
        echo(f"{name}: {dataset.problem}: skipped", err=True)
        return
    changes = [f"{n} to do ({why})" for why, n in why_counts(dataset).items()]
    if dataset.removed:
        changes.append(f"{len(dataset.removed)} gone from the source")
    if dataset.tables_changed:
        changes.append("tables changed: sex, age and labels are read again")
    n_recordings = len(dataset.recordings)
    echo(f"{name}: {n_recordings} recordings; {'; '.join(changes) or 'up to date'}")
    for text in tables.understood if tables else ():
        echo(f"{name}: {text}")
    for warning in (*dataset.warnings, *(tables.warnings if tables else ())):
        echo(f"{name}: warning: {warning}")
    if verbose:
        for recording, why in dataset.todo.items():
            echo(f"  {recording}: {why}")
        for recording in dataset.removed:
            echo(f"  {recording}: gone")


def _print_up_to_date(settings: Settings, scanned: Scan) -> None:
    from flows.monitoring.event_log import EventLog, log_unchanged

    n_recordings = sum(len(dataset.recordings) for dataset in scanned.datasets)
    counted = "1 recording is" if n_recordings == 1 else f"{n_recordings:,} recordings are"
    echo(f"nothing to do: {counted} up to date")
    log_unchanged(EventLog(settings.store.root), scanned)


def _print_summary(settings: Settings) -> None:
    from flows.ingest.summary import render, summarise
    from flows.runtime.console import console
    from storage.files import index_path

    screen = console()
    screen.print(render(summarise(settings.store.root), screen.width))
    echo(f"index: {index_path(settings.store.root)}")


def _anything_wrong(settings: Settings, scanned: Scan) -> bool:
    from flows.ingest.summary import summarise

    missing = any(dataset.problem for dataset in scanned.datasets)
    return missing or not summarise(settings.store.root).clean
