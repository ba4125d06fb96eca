"""What always holds of a published store, as functions that return what does not.

They are numbered as in docs/reliability.md. `deaps doctor --deep` calls them on a user's store, and
the torture harness after every fault.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from storage.files import (
    CROISSANT_NAME,
    DIGEST_SUFFIX,
    INDEX_NAME,
    LOCK_NAME,
    LOGS_FOLDER,
    REPORTS_FOLDER,
    RUNS_FOLDER,
    STORE_ID_NAME,
    WAL_SUFFIX,
    WINDOWS_FOLDER,
    WRITERS_LOCK_NAME,
    index_path,
    is_temporary,
)
from storage.maintenance import Finding, check_store
from storage.schema import GATE_FLAGS, RecordingRow
from storage.snapshot import read_snapshot, reading_index
from storage.windows import WindowFileError, read_windows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MOST_MV = 10_000.0
"""No sample of a window that passes the gate means more than ten volts, as readers know."""
_COUNTS = """
SELECT what, noted, counted FROM (
    SELECT 'recordings' AS what, n_recordings AS noted, (SELECT count(*) FROM recordings) AS counted
    FROM snapshot
    UNION ALL
    SELECT 'quarantined recordings', n_quarantined,
           (SELECT count(*) FROM recordings WHERE status = 'quarantined') FROM snapshot
    UNION ALL
    SELECT 'windows', n_windows, (SELECT count(*) FROM windows) FROM snapshot
    UNION ALL
    SELECT 'recordings of ' || dataset, n_recordings,
           (SELECT count(*) FROM recordings r WHERE r.dataset = d.dataset) FROM datasets d
) WHERE noted <> counted
"""
_ODD_RECORDINGS = """
SELECT dataset || '/' || name, 'is ' || status || ' with reason ' || coalesce(reason, 'none')
FROM recordings WHERE (status = 'quarantined') <> (reason IS NOT NULL AND reason <> '')
UNION ALL
SELECT dataset || '/' || name, 'is there ' || count(*) || ' times'
FROM recordings GROUP BY dataset, name HAVING count(*) > 1
UNION ALL
SELECT dataset || ' ' || first, 'is the first file of ' || count(*) || ' recordings'
FROM (SELECT recording_id, min_by(path, rowid) AS first FROM sources GROUP BY recording_id)
JOIN recordings USING (recording_id) GROUP BY dataset, first HAVING count(*) > 1
"""
_COMPARED = ("start_s", "quality", "quality4", "quality3", "quality_reason", *GATE_FLAGS)
_BASELINES_FOLDER = "baselines"  # made by the benchmarks, in a package that this one may not import
_KNOWN = {
    *(INDEX_NAME, INDEX_NAME + DIGEST_SUFFIX, INDEX_NAME + WAL_SUFFIX, LOCK_NAME),
    *(WRITERS_LOCK_NAME, STORE_ID_NAME, CROISSANT_NAME),
    *(WINDOWS_FOLDER, RUNS_FOLDER, REPORTS_FOLDER, LOGS_FOLDER, _BASELINES_FOLDER),
}


def deep_findings(root: Path | str) -> Iterator[Finding]:
    """Yield what is wrong with a store, by I1, I4, I5, I6, I7 and I11."""
    store = Path(root)
    wrong = [finding for finding in check_store(store, verify=True) if finding.is_error]
    yield from wrong  # I1
    if any(finding.kind.startswith(("index", "no index")) for finding in wrong):
        return
    with reading_index(index_path(store)) as connection:
        before = read_snapshot(connection)
        yield from counts_add_up(connection)
        yield from windows_agree(store, connection)
        if read_snapshot(connection) != before:
            yield Finding("I6", INDEX_NAME, "the snapshot changed under an open connection")
    yield from nothing_foreign(store)


def counts_add_up(connection: DuckDBPyConnection) -> Iterator[Finding]:
    """Yield what breaks I4: each recording is indexed once or quarantined with a reason."""
    for what, noted, counted in connection.execute(_COUNTS).fetchall():
        yield Finding("I4", INDEX_NAME, f"{what}: the snapshot says {noted}, there are {counted}")
    for who, what in connection.execute(_ODD_RECORDINGS).fetchall():
        yield Finding("I4", INDEX_NAME, f"{who} {what}")


def windows_agree(store: Path, connection: DuckDBPyConnection) -> Iterator[Finding]:
    """Yield what breaks I5 (rows and stored windows correspond) and I7 (faults are flagged)."""
    recordings = connection.execute(
        "SELECT recording_id, dataset, name, path, std_mv FROM recordings "
        "WHERE status = 'ok' AND path IS NOT NULL ORDER BY recording_id"
    ).fetchall()
    names = ", ".join(f'"{name}"' for name in ("row", *_COMPARED))
    for number, dataset, name, path, std_mv in recordings:
        rows = connection.execute(
            f'SELECT {names} FROM windows WHERE recording_id = ? ORDER BY "row"',
            [number],
        ).fetchall()
        try:
            table, signal = read_windows(store / path, ("row", *_COMPARED))
        except WindowFileError as error:
            yield Finding("I5", path, str(error))
            continue
        who = f"{dataset}/{name}"
        if rows != table:
            yield Finding("I5", path, f"index and window file of {who} disagree")
        yield from _unflagged(path, who, table, signal, std_mv or 0.0)


def _unflagged(
    path: str, who: str, rows: list[tuple[object, ...]], signal: np.ndarray, std_mv: float
) -> Iterator[Finding]:
    flagged = np.array([any(row[-len(GATE_FLAGS) :]) for row in rows], bool)
    values = signal.astype(np.float32)
    faults = {
        "NaN or infinity": ~np.isfinite(values).all(axis=1),
        "no change at all": (values == values[:, :1]).all(axis=1),
        "an impossible amplitude": np.nanmax(np.abs(values), axis=1) * std_mv > MOST_MV,
    }
    for what, has_fault in faults.items():
        if n := int(np.count_nonzero(has_fault & ~flagged)):
            yield Finding("I7", path, f"{n} windows of {who} have {what} and no flag")


def nothing_foreign(store: Path) -> Iterator[Finding]:
    """Yield what breaks I11 inside the store: files of nobody, and links that lead out of it."""
    for path in sorted(store.iterdir()):
        if path.name not in _KNOWN and not is_temporary(path):
            yield Finding("I11", path.name, "is no file of a store; move it elsewhere")
    for folder, folders, files in os.walk(store):
        for name in (*folders, *files):
            path = Path(folder) / name
            if path.is_symlink() and not path.resolve().is_relative_to(store.resolve()):
                relative = path.relative_to(store).as_posix()
                yield Finding("I11", relative, "is a link that leads out of the store")


def written_texts(store: Path) -> Iterator[tuple[str, str]]:
    """Yield (where, text) of all that the store says in words: index, logs, runs and reports."""
    with reading_index(index_path(store)) as connection:
        for table in ("snapshot", "datasets", "recordings", "sources"):
            rows = connection.execute(f"SELECT t::VARCHAR FROM {table} t").fetchall()
            yield from ((f"{INDEX_NAME}, table {table}", text) for (text,) in rows)
    for folder in (LOGS_FOLDER, RUNS_FOLDER, REPORTS_FOLDER):
        for path in sorted((store / folder).rglob("*")):
            if path.suffix in (".json", ".jsonl", ".toml", ".html", ".md", ".csv"):
                yield path.relative_to(store).as_posix(), path.read_text(errors="replace")


def identities_written(store: Path, words: dict[str, set[str]]) -> Iterator[Finding]:
    """Yield what breaks I12: words of headers' identity fields in what the store says.

    ``words`` are those of each recording's header, by its path. The finding does not quote them.
    """
    wanted = {word: path for path, found in words.items() for word in found}
    for where, text in written_texts(store):
        in_text = set(re.findall(r"[^\W_]{5,}", text.lower()))
        for word in sorted(in_text & wanted.keys()):
            message = f"says a word of the identity fields of {wanted[word]}"
            yield Finding("I12", where, message)


def recording_problems(rows: list[RecordingRow], names: set[tuple[str, str]]) -> Iterator[Finding]:
    """Yield what breaks I4 against the data sets: recordings found there and not in the index."""
    indexed = {(row.dataset, row.name) for row in rows}
    for dataset, name in sorted(names - indexed):
        message = f"{dataset}/{name} is in the data set and not in the index; run deaps preprocess"
        yield Finding("I4", INDEX_NAME, message)
