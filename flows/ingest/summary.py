"""What is in a store, what was set aside and why; and a comparison with its data sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.config import Settings
from flows.ingest.scan import Scan, scan
from preprocessing.recording import FoundRecording
from storage.invariants import deep_findings, identities_written, recording_problems
from storage.maintenance import Finding
from storage.schema import WINDOW_S, Quality

if TYPE_CHECKING:
    from rich.console import RenderableType


_TABLE_WIDTH = 110
"""Columns of a screen that the tables need to be readable."""

_DATASETS = """
SELECT dataset,
       count(*) AS recordings,
       count(DISTINCT subject) AS subjects,
       count(*) FILTER (status = 'quarantined') AS quarantined,
       coalesce(sum(n), 0)::BIGINT AS windows,
       coalesce(sum(excellent), 0)::BIGINT AS "Excellent",
       coalesce(sum(barely), 0)::BIGINT AS "Barely acceptable",
       coalesce(sum(unacceptable), 0)::BIGINT AS "Unacceptable",
       coalesce(bool_or(synthetic), false) AS synthetic
FROM recordings LEFT JOIN (SELECT dataset, synthetic FROM datasets) USING (dataset)
LEFT JOIN (
    SELECT recording_id,
           count(*) AS n,
           count(*) FILTER (quality = 'Excellent') AS excellent,
           count(*) FILTER (quality = 'Barely acceptable') AS barely,
           count(*) FILTER (quality = 'Unacceptable') AS unacceptable
    FROM windows GROUP BY recording_id
) USING (recording_id)
GROUP BY dataset ORDER BY dataset
"""

_QUARANTINED = """
SELECT dataset, kind, count(*) AS recordings, min(name) AS example, min_by(reason, name) AS reason
FROM quarantined
GROUP BY dataset, kind ORDER BY dataset, recordings DESC, kind
"""

_NOTES = """
SELECT dataset, CASE WHEN count(DISTINCT note) = 1 THEN min(note) ELSE kind END AS note,
       count(*) AS recordings, min(name) AS example
FROM (SELECT *, split_part(note, ':', 1) AS kind FROM (SELECT dataset, name, unnest(
          list_concat(notes, scoring_notes,
                      CASE WHEN truncated THEN ['truncated: whole records kept']
                                  WHEN n_windows = 0 AND status = 'ok'
                                  THEN ['shorter than 10 s: no window'] ELSE [] END)) AS note
      FROM recordings))
GROUP BY dataset, kind ORDER BY dataset, recordings DESC, note
"""

_REJECTED = """
WITH judged AS (
    SELECT recording_id, count(*) AS n, avg((quality = 'Unacceptable')::INTEGER) AS share,
           mode(quality_reason) FILTER (quality = 'Unacceptable') AS fault
    FROM windows GROUP BY recording_id
)
SELECT dataset, CASE fault
           WHEN 'flat' THEN 'nearly all windows flat: is the lead connected?'
           WHEN 'clipped' THEN 'nearly all windows clipped: is the gain too high?'
           WHEN 'nonfinite' THEN 'nearly all windows with missing samples'
           ELSE 'nearly all windows Unacceptable by ' || split_part(fault::VARCHAR, '_', 1)
                || ': is it an ECG?' END AS note,
       count(*) AS recordings, min(name) AS example
FROM judged JOIN recordings USING (recording_id)
WHERE share > 0.9 AND n > 5 GROUP BY ALL ORDER BY ALL
"""
"""Recordings of a minute or more whose windows are nearly all rejected."""
_WARNINGS = "SELECT dataset, unnest(warnings) AS warning FROM datasets ORDER BY dataset"


@dataclass(frozen=True, slots=True)
class Summary:
    """Rows of the summary's four tables, as dictionaries."""

    datasets: list[dict[str, Any]]
    quarantined: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    warnings: list[dict[str, Any]]

    @property
    def clean(self) -> bool:
        """Whether nothing was set aside, flagged or missing."""
        return not (self.quarantined or self.notes or self.warnings)


def summarise(root: Path) -> Summary:
    """Return the summary of the published index in ``root``."""
    from storage.snapshot import open_index

    with open_index(root) as index:
        tables = []
        for sql in (_DATASETS, _QUARANTINED, _NOTES, _REJECTED, _WARNINGS):
            cursor = index.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            tables.append([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])
    datasets, set_aside, notes, rejected, warnings = tables
    return Summary(datasets, set_aside, notes + rejected, warnings)


def dataset_rows(summary: Summary) -> list[dict[str, str]]:
    """Return the main table's cells as text, a total below."""
    rows = list(summary.datasets)
    if len(rows) > 1:
        numbers = [key for key in rows[0] if key not in ("dataset", "synthetic")]
        rows.append({"dataset": "total"} | {k: sum(row[k] for row in rows) for k in numbers})
    return [_cells(row) for row in rows]


def _cells(row: dict[str, Any]) -> dict[str, str]:
    cells = {
        "data set": f"{row['dataset']}{' (synthetic)' if row.get('synthetic') else ''}",
        "recordings": f"{row['recordings']:,}",
        "subjects": f"{row['subjects']:,}",
        "windows": f"{row['windows']:,}",
        "hours": f"{row['windows'] * WINDOW_S / 3600:,.1f}",
    }
    for quality in Quality:
        cells[quality] = f"{100 * row[quality] / row['windows']:.1f} %" if row["windows"] else "-"
    return cells | {"quarantined": f"{row['quarantined']:,}"}


def problem_rows(summary: Summary) -> list[dict[str, str]]:
    """Return what was set aside, flagged or missing, one line for each kind."""
    lines = [
        ("quarantined", r["dataset"], r["reason"] if r["recordings"] == 1 else r["kind"], r)
        for r in summary.quarantined
    ]
    lines += [("flagged", r["dataset"], r["note"], r) for r in summary.notes]
    rows = [
        {
            "": kind,
            "data set": dataset,
            "recordings": f"{row['recordings']:,}",
            "what": what,
            "for example": row["example"],
        }
        for kind, dataset, what, row in lines
    ]
    rows += [
        {
            "": "warning",
            "data set": row["dataset"],
            "recordings": "",
            "what": row["warning"],
            "for example": "",
        }
        for row in summary.warnings
    ]
    return rows


def render(summary: Summary, width: int | None = None) -> RenderableType:
    """Return the summary for a terminal; as sentences if it is too narrow for the tables."""
    from rich.console import Group
    from rich.text import Text

    if width is not None and width < _TABLE_WIDTH:
        return Text("\n".join(_sentences(summary)))
    tables = [_table(dataset_rows(summary), "Windows")]
    if problems := problem_rows(summary):
        tables.append(_table(problems, "Set aside, flagged, missing"))
    return Group(*tables)


def _sentences(summary: Summary) -> Iterator[str]:
    for row in dataset_rows(summary):
        shares = ", ".join(f"{row[quality]} {quality}" for quality in Quality)
        yield (
            f"{row['data set']}: {_counted(row, 'recording')} of {_counted(row, 'subject')}, "
            f"{row['quarantined']} quarantined; {row['windows']} windows ({row['hours']} h): "
            f"{shares}"
        )
    for row in problem_rows(summary):
        counted = f", {_counted(row, 'recording')}" if row["recordings"] else ""
        example = f" (e.g. {row['for example']})" if row["for example"] else ""
        yield f"{row['']}, {row['data set']}{counted}: {row['what']}{example}"


def _counted(row: dict[str, str], noun: str) -> str:
    number = row[f"{noun}s"]
    return f"{number} {noun if number == '1' else f'{noun}s'}"


def _table(rows: list[dict[str, str]], title: str) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    numeric = {"recordings", "subjects", "windows", "hours", "quarantined", *map(str, Quality)}
    for name in rows[0] if rows else ():
        table.add_column(name, justify="right" if name in numeric else "left", overflow="fold")
    for row in rows:
        # Names come from outside: as Text they cannot carry markup.
        table.add_row(*(Text(cell) for cell in row.values()))
    return table


_WORD = re.compile(r"[^\W\d_]{5,}")
_PATIENT_AND_RECORDING = slice(8, 168)
_WITH_IDENTITY = (".edf", ".bdf", ".gdf")
_HARMLESS = frozenset({"startdate", "unknown", "anonymous", "anonymized", "recording", "patient"})
"""Words that EDF+ itself, or whoever removed an identity, puts into those fields."""


def check_deeply(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with a store: I1, I4 to I7, I11 and I12.

    Data sets that are configured and there are compared with the index, and words of their
    headers' identity fields are looked for in all that the store says.
    """
    yield from deep_findings(settings.store.root)
    if not settings.data.roots():
        return
    scanned = scan(settings)
    if scanned.published is None:
        return
    names = {(d.job.dataset, name) for d in scanned.datasets for name in d.recordings}
    yield from recording_problems(scanned.published.rows(), names)
    yield from identities_written(settings.store.root, _identity_words(scanned))


def _identity_words(scanned: Scan) -> dict[str, set[str]]:
    """Return the words in the identity fields of every recording's files, by path.

    Words of the file names themselves are left out: names of files are in the index by design.
    """
    named = {
        word
        for dataset in scanned.datasets
        for recording in dataset.recordings.values()
        for word in _words(" ".join([recording.name, recording.subject, recording.files[0][0]]))
    }
    return {
        recording.files[0][0]: words - named - _HARMLESS
        for dataset in scanned.datasets
        for recording in dataset.recordings.values()
        if (words := _header_words(dataset.job.root, recording))
    }


def _header_words(root: Path, recording: FoundRecording) -> set[str]:
    """Return the words in the fields that EDF, BDF and GDF have for a person and a visit."""
    path = root / recording.files[0][0]
    if path.suffix.lower() not in _WITH_IDENTITY:
        return set()
    try:
        with path.open("rb") as file:
            start = file.read(_PATIENT_AND_RECORDING.stop)
    except OSError:
        return set()
    return _words(start[_PATIENT_AND_RECORDING].decode("latin-1"))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
