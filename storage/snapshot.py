"""The published snapshot: opening the index and reading its own description."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.errors import DeapsError
from storage.files import index_path, is_as_published
from storage.schema import SCHEMA_VERSION, gate_view_sql

if TYPE_CHECKING:
    from datetime import datetime

    from duckdb import DuckDBPyConnection


# Rows from before versions were kept are of the first one.
WINDOWS_VERSION_SQL = (
    "coalesce(try_cast(regexp_extract(versions, 'windows=([0-9]+)', 1) AS INT), 1)"
)

_CHAINS = """
SELECT c.settings, {version}, list(DISTINCT dataset ORDER BY dataset), count(*)
FROM recordings LEFT JOIN chains c USING (settings_digest)
WHERE status = 'ok' AND n_windows > 0 AND ({condition}) GROUP BY ALL ORDER BY count(*) DESC
"""
_LEADS = ("channels", "channels_add")
"""Settings that choose a lead: data sets with one of their own do not have them."""

_VERSIONS = """
SELECT DISTINCT dataset, coalesce(versions, 'gate=1 resample=1') FROM recordings
WHERE status = 'ok' AND n_windows > 0 AND ({condition}) ORDER BY ALL
"""
_ONE_CHAIN = (
    "Run deaps preprocess with one setting for all data sets, or use them together with "
    "--set sampling.mixed_chains=true"
)

_NO_CHAINS = "(SELECT NULL::VARCHAR AS settings, '' AS settings_digest) c"


class IndexMissingError(DeapsError):
    """No index is published where one is needed."""


class IndexVersionError(DeapsError):
    """The index has another schema version, is damaged, or is none of this program."""


class MixedChainsError(DeapsError):
    """Windows that were made with different settings are used together."""


class IndexDamagedError(IndexVersionError):
    """The index is not what was published; publishing again makes it whole."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One published index.

    ``snapshot_id`` depends on recordings, windows and settings alone, ``content_digest`` on
    everything in the index except times and ids. ``rebuilt`` is whether the call that returned
    this snapshot wrote it. ``skipped`` lists runs and reports that could not be read.
    """

    snapshot_id: str
    content_digest: str
    schema_version: int
    published_at: datetime
    store_root: str
    settings: dict[str, Any]
    versions: dict[str, str]
    n_datasets: int
    n_recordings: int
    n_quarantined: int
    n_windows: int
    next_recording_id: int
    rebuilt: bool = False
    skipped: tuple[str, ...] = ()


def sql_literal(text: str) -> str:
    """Return ``text`` as a SQL string, for the statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"


def hide_progress(connection: DuckDBPyConnection) -> None:
    """Let long statements draw no progress bar.

    In a notebook without ipywidgets DuckDB refuses the setting, and has no bar to draw.
    """
    import duckdb

    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")


def open_index(root_or_file: Path | str, *, verify: bool = True) -> DuckDBPyConnection:
    """Return a read-only connection to a store's published index, or to an index file.

    The connection keeps its snapshot while newer ones are published. The index is attached to
    an empty database: within one process, ``duckdb.connect`` on the same path would return the
    old snapshot as long as any connection to it is open.

    Raises
    ------
    IndexMissingError
        If there is none.
    IndexDamagedError
        If, with ``verify``, its bytes are not those that were published; or DuckDB cannot open it.
    IndexVersionError
        If it has another schema version.
    """
    import duckdb

    given = Path(root_or_file)
    path = index_path(given) if given.is_dir() or not given.suffix else given
    if not path.is_file():
        raise IndexMissingError(f"no index at {path}; run deaps preprocess")
    if verify:
        _check_digest(path)
    connection = duckdb.connect()
    try:
        _attach(connection, path.resolve())
        connection.execute("USE deaps")
        _check_version(connection, path)
        # An index that was published before the view existed has none of its own.
        connection.execute(gate_view_sql(temporary=True))
    except duckdb.Error as error:
        connection.close()
        message = f"{path} cannot be opened as an index ({error}); run deaps preprocess"
        raise IndexDamagedError(message) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check_digest(path: Path) -> None:
    for _ in range(2):  # a publication may have come between the digest and the file
        if is_as_published(path):
            return
    raise IndexDamagedError(
        f"{path} was changed after it was published: its SHA-256 differs; run deaps preprocess to "
        "publish it again"
    )


def _attach(connection: DuckDBPyConnection, path: Path) -> None:
    """Attach an index, or a copy of it while somebody else has it open for writing.

    A writer's lock keeps readers out, and the log that a killed writer leaves next to the index
    belongs to no index that was ever published. A copy has neither.
    """
    import duckdb

    try:
        connection.execute(f"ATTACH {sql_literal(str(path))} AS deaps (READ_ONLY)")
    except duckdb.IOException:
        with tempfile.TemporaryDirectory(prefix="deaps-index-") as folder:
            copy = Path(shutil.copyfile(path, Path(folder) / path.name))
            # DuckDB keeps the file open, so it may lose its name at once.
            connection.execute(f"ATTACH {sql_literal(str(copy))} AS deaps (READ_ONLY)")


@contextlib.contextmanager
def reading_index(root_or_file: Path | str, *, verify: bool = True) -> Iterator[DuckDBPyConnection]:
    """Yield a read-only connection; each error of DuckDB becomes "the index is damaged".

    For this program's own queries, which an undamaged index always answers.
    """
    import duckdb

    with open_index(root_or_file, verify=verify) as connection:
        try:
            yield connection
        except duckdb.Error as error:
            message = f"the index at {root_or_file} is damaged ({error}); run deaps preprocess"
            raise IndexDamagedError(message) from error


def read_snapshot(connection: DuckDBPyConnection) -> Snapshot:
    """Return the snapshot that an open index describes."""
    cursor = connection.execute("FROM snapshot")
    names = [column[0] for column in cursor.description or ()]
    (row,) = cursor.fetchall()
    values = dict(zip(names, row, strict=True))
    values["settings"] = json.loads(values["settings"])
    values["versions"] = json.loads(values["versions"])
    values["skipped"] = tuple(values["skipped"])
    return Snapshot(**values)


@dataclass(frozen=True, slots=True)
class Chain:
    """How windows were made: settings of the signal chain, and its version for encoders.

    ``settings`` are empty for windows that were made before settings were kept.
    """

    settings: dict[str, Any]
    version: int
    datasets: tuple[str, ...] = ()
    n_recordings: int = 0

    def differences(self, other: Chain) -> list[str]:
        """Return what it has otherwise than another, such as ``signal.highpass_hz=5.0``."""
        if not self.settings:
            return ["unknown settings (made by an earlier version)"]
        parts = [
            f"{section}.{key}={value}"
            for section, values in self.settings.items()
            for key, value in values.items()
            if other.settings.get(section, {}).get(key) != value
        ]
        return parts + [f"chain version {self.version}"] * (self.version != other.version)


def read_chains(
    connection: DuckDBPyConnection, condition: str = "true", **values: object
) -> list[Chain]:
    """Return every chain that made windows of the recordings that a condition in SQL chooses.

    Settings belong to recordings: those of one data set may be of an earlier publication. The
    chain of most recordings comes first.
    """
    has_chains = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() "
        "AND table_name = 'chains'"
    ).fetchall()
    sql = _CHAINS if has_chains else _CHAINS.replace("chains c", _NO_CHAINS)
    sql = sql.format(version=_windows_version(connection), condition=condition)
    chains: dict[str, Chain] = {}
    for settings, version, datasets, n in connection.execute(sql, values).fetchall():
        made = json.loads(settings) if settings else {}
        if signal := made.get("signal"):
            made["signal"] = {k: v for k, v in signal.items() if k not in _LEADS}
        key = json.dumps([made, version], sort_keys=True)
        earlier = chains.get(key, Chain(made, version))
        names = tuple(sorted({*earlier.datasets, *datasets}))
        chains[key] = Chain(made, version, names, earlier.n_recordings + n)
    return sorted(chains.values(), key=lambda chain: -chain.n_recordings)


def read_chain(
    connection: DuckDBPyConnection, condition: str = "true", **values: object
) -> Chain | None:
    """Return the one chain of the recordings that a condition chooses; None without recordings.

    Raises
    ------
    MixedChainsError
        If they are of more than one, by settings or by versions of a step or reader; the message
        names the first two.
    """
    chains = read_chains(connection, condition, **values)
    if len(chains) > 1:
        first, second = chains[:2]
        raise MixedChainsError(
            f"windows of {len(chains)} signal chains: {_shown(first, second)}; "
            f"{_shown(second, first)}. {_ONE_CHAIN}"
        )
    if chains and not chains[0].settings:
        raise MixedChainsError(
            "windows were made by an earlier version, which kept no settings; run deaps preprocess"
        )
    if difference := _version_difference(connection, condition, values):
        raise MixedChainsError(f"windows of two versions of {difference}. {_ONE_CHAIN}")
    return chains[0] if chains else None


def _version_difference(
    connection: DuckDBPyConnection, condition: str, values: Mapping[str, object]
) -> str | None:
    """Return what of the chain made some windows in one version and others in another.

    Recordings of different formats have different readers; each must have one version.
    """
    if _windows_version(connection) != WINDOWS_VERSION_SQL:
        return None  # an index from before versions were kept: all are of the first
    sql = _VERSIONS.format(condition=condition)
    users: dict[str, dict[str, set[str]]] = {}
    for dataset, versions in connection.execute(sql, dict(values)).fetchall():
        for part in versions.split():
            name, _, version = part.partition("=")
            name = f"the reader of {dataset}" if name == "dataset" else name
            users.setdefault(name, {}).setdefault(version, set()).add(dataset)
    for name, by_version in users.items():
        if len(by_version) > 1:
            used = (f"{v} in {', '.join(sorted(by_version[v]))}" for v in sorted(by_version))
            return f"{name}: {'; '.join(used)}"
    return None


def _shown(chain: Chain, other: Chain) -> str:
    differences = ", ".join(chain.differences(other)) or "the same without them"
    n = chain.n_recordings
    recordings = "1 recording" if n == 1 else f"{n:,} recordings"
    return f"{recordings} of {', '.join(chain.datasets)} with {differences}"


def _windows_version(connection: DuckDBPyConnection) -> str:
    columns = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() "
        "AND table_name = 'recordings'"
    ).fetchall()
    return WINDOWS_VERSION_SQL if ("versions",) in columns else "1"


def _check_version(connection: DuckDBPyConnection, path: Path) -> None:
    import duckdb

    try:
        (version,) = connection.execute("SELECT schema_version FROM snapshot").fetchall()[0]
    except (duckdb.CatalogException, duckdb.BinderException, IndexError):
        version = "none"
    if version != SCHEMA_VERSION:
        message = (
            f"{path} has schema version {version}; this program reads {SCHEMA_VERSION}. Name "
            "another store.root, or remove that file: deaps preprocess then makes all windows again"
        )
        raise IndexVersionError(message)
