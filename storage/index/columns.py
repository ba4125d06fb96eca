"""Every table and column of the index: what it means, as it is stored, printed and documented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from storage.snapshot import sql_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


TABLES = {
    "recordings": "One row for each recording, quarantined ones included.",
    "windows": "One row for each 10 s window of the recordings that are not quarantined.",
    "stages": "The hypnogram: one row for each span of one sleep stage.",
    "events": "One row for each scored event, such as an apnea or an arousal.",
    "window_counts": "Windows of each recording by quality and rhythm, for quick counts.",
    "subjects": "One row for each subject and visit, with variables of the cohort's own tables.",
    "chains": "One row for each set of settings that windows were made with.",
    "sources": "One row for each source file, as it was when it was read.",
    "datasets": "One row for each data set, as the last scan found it.",
    "runs": "One row for each training.",
    "results": "One row for each figure of a report, with what it comes from.",
    "snapshot": "One row: this published index, what made it, and how large it is.",
    "usable_windows": "Windows that are not Unacceptable, with subject, visit and variables.",
    "passed_windows": "Windows that the gate does not reject: not flat, clipped or non-finite.",
    "cross_visit_subjects": "Subjects with usable windows in two or more visits.",
    "quality_by_dataset": "Windows of each data set by quality.",
    "rhythm_by_dataset": "Windows of each data set by rhythm.",
    "quarantined": "Recordings that were set aside, and why.",
    "stage_by_recording": "Minutes of each sleep stage, efficiency and latency of each night.",
    "events_by_recording": "Events of scored recordings by kind, and the apnea-hypopnea index.",
    "windows_around_events": "Windows from a minute before to a minute after each event.",
    "quality_grades": "Recordings with a technician's grade, beside their unacceptable windows.",
    "windows_with_signal": "Every window with its samples, read from the window files.",
}
"""Tables and views, in the order in which people ask for them."""
COHORT_COLUMN = "Variable of the cohort's own table, which the setting cohort.columns names."
COLUMNS = {
    "recording_id": "Number of the recording; the same in every later snapshot.",
    "dataset": "Data set, by the name that it has in the settings.",
    "name": "Name of the recording within its data set.",
    "subject": "Person, as the data set names people.",
    "visit": "Occasion of the person: 1, 2, and so on.",
    "visit_name": "What the table of one's own folder calls the visit.",
    "status": "ok, or quarantined.",
    "reason": "Why the recording was set aside; NULL if it is ok.",
    "sex": "male, female, or NULL if it is not known.",
    "age": "Age at the recording, in years.",
    "label": "Label of the whole recording: N, A, O or ~ in Challenge 2017.",
    "split": "Part of the data set: train, validation; set-I, set-II.",
    "rhythm": "Cardiac rhythm, by the codes of WFDB (N, AFIB, ...); NULL if it is not known.",
    "fs": "Sampling rate of the source, in Hz; windows have 100 Hz.",
    "duration_s": "Length in seconds.",
    "channel": "Label of the lead that was read.",
    "n_windows": "Number of windows.",
    "dropped_s": "Seconds at the end that are too short for a window.",
    "n_samples": "Samples behind mean and standard deviation.",
    "mean_mv": "Mean of the filtered signal, in mV; windows are normalised by it.",
    "std_mv": "Standard deviation of the filtered signal, in mV; windows are normalised by it.",
    "polarity": "Polarity score: negative where the lead seems to be inverted.",
    "truncated": "Whether the file is shorter than its header announces.",
    "notes": "What a reader of results should know of the recording.",
    "rhythms": "Rhythms of its windows, each once, sorted.",
    "path": "Window file, relative to the store.",
    "signal_offset": "Byte of the window file at which its samples start.",
    "bytes": "Size of the window file, in bytes.",
    "file_sha256": "SHA-256 of the window file.",
    "digest": "Digest of source files and settings, after which the window file is named.",
    "settings_digest": "Digest of the settings that made it.",
    "versions": "Versions of the readers and steps of the signal chain that made the windows.",
    "signal_digest": "Digest of the lead as it was read; NULL where it is constant.",
    "checked_at_ns": "When times and sizes of the sources were read, in ns since 1970.",
    "clock_s": "Time of day at the start, in seconds after midnight; no date is kept.",
    "scoring_digest": "Digest of stages and events; NULL without a scoring.",
    "scoring_version": "Version of the readers of stages and events.",
    "scoring_notes": "What a reader of results should know of stages and events.",
    "row": "Number of the window in its recording, from 0.",
    "start_s": "Start, in seconds from the recording's start.",
    "quality": "Class by pSQI, kSQI and basSQI: Excellent, Barely acceptable, Unacceptable.",
    "quality4": "Class by four indices, qSQI among them; NULL if qSQI was not computed.",
    "psqi": "Share of power between 5 and 15 Hz in that between 5 and 40 Hz.",
    "ksqi": "Kurtosis of the window.",
    "bassqi": "One less the share of power below 1 Hz in that below 40 Hz.",
    "qsqi": "Share of beats on which two detectors agree.",
    "hr_max": "Highest heart rate within the window, in beats per minute.",
    "flat": "Gate: the source stays unchanged for too long.",
    "clipped": "Gate: too many source samples lie on the recording's rails.",
    "nonfinite": "Gate: the source has missing or infinite samples.",
    "rhythm_share": "Share of the window with that rhythm; NULL if the label is the recording's.",
    "hr_mean": "Heart rate of the mean RR interval, in beats per minute.",
    "hr_sd": "Standard deviation of the rates of the single RR intervals, in beats per minute.",
    "time_of_day": "Time of day at the window's start; NULL if the header has none.",
    "stage": "Sleep stage that covers most of it: W, N1, N2, N3, REM, movement, unscored.",
    "old_stage": "Sleep stage of Rechtschaffen and Kales, with S3 and S4 apart.",
    "stage_share": "Share of the window with that stage.",
    "arousal_s": "Seconds of arousal in the window; NULL without a scoring.",
    "obstructive_apnea_s": "Seconds of obstructive apnea in the window; NULL without a scoring.",
    "central_apnea_s": "Seconds of central apnea in the window; NULL without a scoring.",
    "mixed_apnea_s": "Seconds of mixed apnea in the window; NULL without a scoring.",
    "hypopnea_s": "Seconds of hypopnea in the window; NULL without a scoring.",
    "desaturation_s": "Seconds of desaturation in the window; NULL without a scoring.",
    "kind": "Kind of event, such as hypopnea.",
    "first_row": "First window of these.",
    "last_row": "Last window of these.",
    "n_recordings": "Number of recordings.",
    "n_quarantined": "Number of recordings that were set aside.",
    "synthetic": "Whether deaps synth wrote it: no person was recorded.",
    "run": "Training: a folder under runs/.",
    "method": "Method that was trained, or the baseline.",
    "snapshot": "snapshot_id of the index that it was trained on.",
    "signal": "The window's 1000 samples at 100 Hz, filtered and normalised by its recording.",
    "n_visits": "Number of visits.",
    "share": "Share of the data set's windows.",
    "size": "Size in bytes when it was read.",
    "role": "What the file gives: signal, header, annotation or scoring.",
    "mtime_ns": "Time of its last change when it was read, in ns since 1970.",
    "ctime_ns": "Time of its last change of status when it was read, in ns since 1970.",
    "inode": "Number of the file in its file system.",
    "sha256": "SHA-256 of its content.",
}
"""Columns that mean the same in every table and view."""
SPECIAL = {
    "recordings.n_windows": "Windows in its file; those of a quarantined one are not in windows.",
    "recordings.rhythm": "Rhythm of the whole recording, for windows without one of their own.",
    "sources.path": "Path of the file, relative to the data set's root.",
    "stages.start_s": "Start of the span, in seconds from the recording's start.",
    "stages.duration_s": "Length of the span, in seconds.",
    "stages.stage": "Stage of the span.",
    "stages.old_stage": "The same with S3 and S4 apart; NULL if the scorer used the newer names.",
    "events.start_s": "Start of the event, in seconds from the recording's start.",
    "events.duration_s": "Length of the event, in seconds.",
    "events.first_row": "Row of the window in which it starts.",
    "events.last_row": "Row of the window in which it ends.",
    "window_counts.first_row": "Row of the first window of this quality and rhythm.",
    "window_counts.last_row": "Row of the last window of this quality and rhythm.",
    "datasets.fingerprint": "Digest of the data set's tables and warnings at the last scan.",
    "datasets.label_source": "Table with the labels; NULL if there is none.",
    "datasets.warnings": "What a reader of results should know of the data set.",
    "datasets.scanned_at_ns": "When the data set was scanned, in ns since 1970.",
    "runs.started_at": "When it was started, UTC.",
    "runs.finished_at": "When it was finished, UTC; NULL if it is not.",
    "runs.iterations": "Steps of the training.",
    "runs.config": "Every setting of the training.",
    "runs.synthetic": "Whether some data were synthetic; NULL in runs of older versions.",
    "results.report": "Report: a folder under reports/.",
    "results.run": "Training that it was measured on; NULL for a mean over several seeds.",
    "results.seed": "Seed of that training.",
    "results.benchmark": "Benchmark, such as afib-loo.",
    "results.metric": "What was measured, such as accuracy.",
    "results.value": "The figure.",
    "results.low": "Lower end of its confidence interval.",
    "results.high": "Upper end of its confidence interval.",
    "results.n": "Examples behind it.",
    "results.note": "What a reader should know of it.",
    "results.snapshot": "snapshot_id that it was trained and measured on.",
    "results.encoder_sha256": "SHA-256 of the encoder; NULL for baselines and means over seeds.",
    "results.settings_digest": "Digest of the settings in the report.",
    "results.code": "Version of deaps, and a digest of its source files.",
    "results.sources": "Source files of the snapshot.",
    "results.sources_sha256": "SHA-256 of their SHA-256s, sorted, a line each.",
    "results.synthetic": "Whether some data are synthetic; NULL in reports of older versions.",
    "snapshot.snapshot_id": "Digest of recordings, windows and settings.",
    "snapshot.content_digest": "Digest of everything but times and ids.",
    "snapshot.schema_version": "Version of these tables.",
    "snapshot.published_at": "When it was published, UTC.",
    "snapshot.store_root": "Folder in which windows_with_signal looks for window files.",
    "snapshot.settings": "Settings of the last publication; those of each recording: chains.",
    "chains.settings_digest": "Digest of settings and versions, as in recordings.",
    "chains.settings": "Settings of the signal chain and of the quality score.",
    "snapshot.versions": "Versions of the libraries that made it.",
    "snapshot.n_datasets": "Number of data sets.",
    "snapshot.n_recordings": "Number of recordings, quarantined ones included.",
    "snapshot.next_recording_id": "Number for the next new recording; none is used twice.",
    "snapshot.skipped": "Runs and reports that could not be read, and why.",
    "quarantined.kind": "Kind of reason: its first words.",
    "stage_by_recording.wake_min": "Minutes awake.",
    "stage_by_recording.n1_min": "Minutes of N1.",
    "stage_by_recording.n2_min": "Minutes of N2.",
    "stage_by_recording.n3_min": "Minutes of N3.",
    "stage_by_recording.rem_min": "Minutes of REM sleep.",
    "stage_by_recording.movement_min": "Minutes that were scored as movement.",
    "stage_by_recording.unscored_min": "Minutes that were marked as not scored.",
    "stage_by_recording.sleep_min": "Minutes asleep: N1, N2, N3 and REM.",
    "stage_by_recording.efficiency": "Share of the scored time that was slept.",
    "stage_by_recording.latency_min": "Minutes from the first scored epoch to the first sleep.",
    "events_by_recording.n_arousals": "Number of arousals.",
    "events_by_recording.n_obstructive_apneas": "Number of obstructive apneas.",
    "events_by_recording.n_central_apneas": "Number of central apneas.",
    "events_by_recording.n_mixed_apneas": "Number of mixed apneas.",
    "events_by_recording.n_hypopneas": "Number of hypopneas, whatever the desaturation.",
    "events_by_recording.n_desaturations": "Number of desaturations.",
    "events_by_recording.ahi": "Apneas and hypopneas for each hour of scored sleep.",
    "events_by_recording.arousals_per_hour": "Arousals for each hour of scored sleep.",
    "windows_around_events.kind": "Kind of the event.",
    "windows_around_events.event_start_s": "Start of the event, in seconds.",
    "windows_around_events.event_duration_s": "Length of the event, in seconds.",
    "windows_around_events.after_end_s": "Seconds from the event's end to the window's start.",
    "quality_grades.grade": "Technician's grade of the heart signal (hrqual, quhr of SHHS).",
    "quality_grades.unacceptable_share": "Share of the recording's windows that are Unacceptable.",
    "windows.rhythm": "Rhythm that covers most of the window, or the recording's.",
    "cross_visit_subjects.n_windows": "Number of usable windows.",
}
"""Columns of one table, as ``table.column``, that mean something of their own there."""
COHORT_TABLES = ("subjects", "usable_windows", "stage_by_recording", "events_by_recording")
"""Tables and views with variables of the cohorts' own tables."""

_COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database() ORDER BY table_name, column_index
"""
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
_LONGEST_TYPE = 30

STORE_VARIABLE = "deaps_store"
"""DuckDB variable with the store's new folder, for the view to use after a move."""
_VIEW = """
CREATE VIEW windows_with_signal AS
SELECT r.recording_id, f."row", r.dataset, r.name, r.subject, r.visit, r.sex, r.age, r.label,
       r.split, f.start_s,
       f.quality::quality_class AS quality, f.quality4::quality_class AS quality4,
       f.psqi, f.ksqi, f.bassqi, f.qsqi, f.hr_max, f.flat, f.clipped, f.nonfinite,
       coalesce(f.rhythm, r.rhythm)::rhythm_label AS rhythm, f.rhythm_share, f.signal
FROM {source} f JOIN recordings r ON f.filename = {store} || r.path
WHERE r.status = 'ok'
"""
_NO_FILES = """(
    SELECT NULL::FLOAT[] AS signal, NULL::VARCHAR AS filename, *
    FROM windows LIMIT 0
)"""


def describe_column(table: str, column: str) -> str | None:
    """Return what a column means, None if nothing is written of it."""
    text = SPECIAL.get(f"{table}.{column}") or COLUMNS.get(column)
    return text or (COHORT_COLUMN if table in COHORT_TABLES else None)


class SchemaRow(NamedTuple):
    """One column of one table or view."""

    table: str
    is_view: bool
    column: str
    type: str
    description: str


def schema_rows(connection: DuckDBPyConnection) -> list[SchemaRow]:
    """Return every column of an open index, tables in the order in which people ask for them."""
    views = {name for (name,) in connection.execute(_VIEWS).fetchall()}
    rows = [
        SchemaRow(table, table in views, column, _short(kind), describe_column(table, column) or "")
        for table, column, kind in connection.execute(_COLUMNS).fetchall()
    ]
    order = {name: place for place, name in enumerate(TABLES)}
    return sorted(rows, key=lambda row: order.get(row.table, len(order)))


def write_comments(connection: DuckDBPyConnection) -> None:
    """Write the descriptions into an index, as comments of its tables, views and columns."""
    statements = []
    for (table, is_view), rows in groupby(schema_rows(connection), lambda row: row[:2]):
        kind = "VIEW" if is_view else "TABLE"
        statements.append(f"COMMENT ON {kind} {table} IS {sql_literal(TABLES.get(table, ''))}")
        statements += [
            f'COMMENT ON COLUMN {table}."{row.column}" IS {sql_literal(row.description)}'
            for row in rows
        ]
    # In one transaction: each alone would be written to the disk.
    connection.execute(";\n".join(["BEGIN", *statements, "COMMIT"]))


def empty_schema() -> list[SchemaRow]:
    """Return the schema of an index without recordings, for when none is published."""
    import duckdb

    from storage.index.build import IndexContent, RunsAndResults, fill_index

    with duckdb.connect() as connection:
        fill_index(connection, Path(), IndexContent([], [], RunsAndResults()), {})
        return schema_rows(connection)


def schema_markdown() -> str:
    """Return the schema as Markdown: a heading and a table for each table and view."""
    return "\n".join(_markdown_lines(empty_schema()))


def _markdown_lines(rows: list[SchemaRow]) -> Iterator[str]:
    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        yield f"## `{table}`{' (view)' if is_view else ''}\n"
        yield f"{TABLES.get(table, '')}\n"
        yield "| column | type | meaning |\n| --- | --- | --- |"
        for row in columns:
            yield f"| `{row.column}` | {row.type} | {row.description} |"
        yield ""


def _short(kind: str) -> str:
    """Return a type for people: an enumeration's values would fill lines."""
    return kind if len(kind) <= _LONGEST_TYPE else "ENUM" if kind.startswith("ENUM") else kind


def signal_view_sql(root: Path, paths: Sequence[str]) -> str:
    """Return the statement that makes the view over window files, named relative to the store.

    The list of files is a constant of the view: DuckDB refuses a subquery there. A condition on
    `recordings` then opens only the files it needs.
    """
    store = _store_expression(root)
    source = _files_expression(store, paths) if paths else _NO_FILES
    return _VIEW.format(source=source, store=store)


def _store_expression(root: Path) -> str:
    published = f"{root.as_posix().rstrip('/')}/"
    return f"coalesce(rtrim(getvariable('{STORE_VARIABLE}'), '/') || '/', {sql_literal(published)})"


def _files_expression(store: str, paths: Sequence[str]) -> str:
    files = ", ".join(sql_literal(path) for path in paths)
    # A folder named like "site=3" would otherwise become a column of its own.
    return (
        f"read_parquet(list_transform([{files}], lambda f: {store} || f), "
        "filename = true, hive_partitioning = false, union_by_name = false)"
    )
