"""From a scan and new rows to the rows of the next snapshot: facts of cohort tables joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from flows.config import Settings
from flows.ingest.recording import Rescoring
from flows.ingest.scan import DatasetScan, Scan
from preprocessing.config import lacks_columns
from preprocessing.plausibility import reading_memory
from preprocessing.recording import CohortTables, Facts, FoundRecording
from storage.files import SYNTHETIC_NAME
from storage.index.published import RecordingKey
from storage.packages import cycle_collector_paused
from storage.publish import publish
from storage.schema import VISIT_NAME, DatasetRow, RecordingRow, Scoring, Status, SubjectRow
from storage.snapshot import Snapshot

_NOTHING = Facts()


@cycle_collector_paused()
def publish_scan(
    scanned: Scan,
    new_rows: Iterable[RecordingRow],
    settings: Settings,
    *,
    scorings: Mapping[RecordingKey, Scoring] | None = None,
    rescorings: Mapping[RecordingKey, Rescoring] | None = None,
) -> Snapshot:
    """Publish what is new together with what stays of the published recordings.

    ``scorings`` belong to the new rows, ``rescorings`` to published ones.
    """
    new = {(row.dataset, row.name): row for row in new_rows}
    rescored = dict(rescorings or {})
    by_dataset = {d.job.dataset: d for d in scanned.datasets if d.problem is None}
    kept = scanned.published.rows() if scanned.published else []
    published_datasets = scanned.published.datasets.values() if scanned.published else ()
    rows = [_as_it_can_stay(row) for row in kept if row.dataset not in by_dataset]
    datasets = [row for row in published_datasets if row.dataset not in by_dataset]
    published = {(row.dataset, row.name): row for row in kept}
    published |= {key: found.apply(published[key]) for key, found in rescored.items()}
    scored = {key: found.scoring for key, found in rescored.items() if found.scoring is not None}
    kept_subjects = scanned.published.subjects() if scanned.published else []
    subjects = [row for row in kept_subjects if row.dataset not in by_dataset]
    for dataset in by_dataset.values():
        tables = read_tables(dataset)
        rows += _dataset_rows(dataset, published | new, tables)
        with reading_memory(dataset.job.reading_bytes):
            found, warnings = _subject_rows(dataset, settings.cohort.columns)
        subjects += found
        datasets.append(_dataset_row(dataset, tables, warnings))
    return publish(
        settings.store.root,
        rows,
        datasets=datasets,
        settings=result_settings(settings),
        scorings={**scored, **(scorings or {})},
        subjects=subjects,
        chains=_chains(scanned),
    )


def _as_it_can_stay(row: RecordingRow) -> RecordingRow:
    """Return a published row whose data set is absent; quarantined if its file is too old."""
    if row.status is not Status.OK or not row.n_windows or not lacks_columns(row.versions):
        return row
    reason = f"made by an earlier version: configure data.{row.dataset}, which was not found"
    return replace(row, status=Status.QUARANTINED, reason=reason)


def _chains(scanned: Scan) -> dict[str, dict[str, Any]]:
    """Return the settings of all recordings: those of now, and those of published ones."""
    chains = dict(scanned.published.chains) if scanned.published else {}
    for dataset in scanned.datasets:
        job = dataset.job
        versions = {job.versions(recording) for recording in dataset.recordings.values()}
        chains |= {job.settings_digest(version): job.settings() for version in versions}
    return chains


def read_tables(dataset: DatasetScan) -> CohortTables:
    """Return what the data set's tables say; a table that cannot be read is a warning.

    Tables fail as recordings do: alone, and in words. The text of an error may quote a table.
    """
    job = dataset.job
    try:
        with reading_memory(job.reading_bytes):
            tables, files = job.reader.tables(job.root), job.reader.table_files(job.root)
    except Exception as error:  # whatever a reader raises concerns this data set alone
        cause = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        return CohortTables({}, warnings=(f"tables are damaged or cannot be opened{cause}",))
    n_described = sum(tables.facts.get(name, _NOTHING) != _NOTHING for name in dataset.recordings)
    if not files or n_described == len(dataset.recordings):
        return tables
    warning = f"tables describe {n_described:,} of {len(dataset.recordings):,} recordings"
    return replace(tables, warnings=(*tables.warnings, warning))


def result_settings(settings: Settings) -> dict[str, object]:
    """Return the settings that change window files, for the snapshot's own record."""
    # Without added labels a snapshot keeps the id that it had before there was such a setting.
    unset = set() if settings.signal.channels_add else {"channels_add"}
    return {
        "signal": settings.signal.model_dump(mode="json", exclude=unset),
        "quality": settings.quality.model_dump(mode="json"),
    }


def _dataset_rows(
    dataset: DatasetScan, rows: dict[tuple[str, str], RecordingRow], tables: CohortTables
) -> Iterator[RecordingRow]:
    has_tables = dataset.job.reader.has_tables
    for name, recording in dataset.recordings.items():
        row = rows[dataset.job.dataset, name]
        yield _with_facts(row, recording, tables.facts.get(name, Facts()) if has_tables else None)


def _with_facts(row: RecordingRow, recording: FoundRecording, facts: Facts | None) -> RecordingRow:
    """Return the row as the tables now describe it; without tables, what the header says stands."""
    fields: dict[str, Any] = {"subject": recording.subject, "visit": recording.visit}
    if facts is not None:
        fields |= {
            name: getattr(facts, name) for name in ("sex", "age", "label", "rhythm", "split")
        }
    # Most rows are as they were, and copies of thousands take a tenth of a publication.
    is_same = all(getattr(row, name) == value for name, value in fields.items())
    return row if is_same else replace(row, **fields)


def _subject_rows(
    dataset: DatasetScan, columns: tuple[str, ...]
) -> tuple[list[SubjectRow], list[str]]:
    """Return what the data set's tables have in the named columns, names of visits, and warnings.

    Both concern this data set alone: `read_tables` warns of a table that cannot be read.
    """
    name, root, reader = dataset.job.dataset, dataset.job.root, dataset.job.reader
    values, warnings = reader.subject_values(root, columns) if columns else ({}, [])
    known = set(reader.subject_columns(root)) if columns else set()
    empty = {column: "" for column in columns if column in known}
    visit_names = reader.visit_names(root)
    if visit_names:
        empty[VISIT_NAME] = ""
    for key, visit_name in visit_names.items():
        values[key] = values.get(key, {}) | {VISIT_NAME: visit_name}
    rows = [SubjectRow(name, *key, empty | texts) for key, texts in values.items()]
    return rows, warnings


def _dataset_row(
    dataset: DatasetScan, tables: CohortTables, subject_warnings: list[str]
) -> DatasetRow:
    return DatasetRow(
        dataset=dataset.job.dataset,
        fingerprint=dataset.fingerprint,
        label_source=tables.source,
        warnings=(*tables.warnings, *subject_warnings, *dataset.warnings),
        scanned_at_ns=dataset.scanned_at_ns,
        synthetic=(dataset.job.root / SYNTHETIC_NAME).is_file(),
    )
