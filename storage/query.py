"""SQL for people: one question at a time, which can read the store and change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from storage.config import QUERY_MEGABYTES, QUERY_SECONDS
from storage.errors import DeapsError
from storage.files import resolve_root
from storage.index.columns import STORE_VARIABLE
from storage.snapshot import hide_progress, open_index, sql_literal

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_ROWS_AT_ONCE = 10_000
_LAST_WORDS_S = 0.5
"""How long a stopped statement may take to end."""

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(ANALYZE\s+)?", re.IGNORECASE)


def run_query(
    root: Path | str,
    sql: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    limit: int | None = None,
    seconds: float = QUERY_SECONDS,
    megabytes: float = QUERY_MEGABYTES,
) -> pa.Table:
    """Return the result of one SELECT or EXPLAIN on the published index.

    The connection can read the index and the store's window files, and nothing else. It writes no
    temporary files. Ctrl-C ends any statement within a second.

    Parameters
    ----------
    root
        Folder of the store.
    sql
        One statement; ``$name`` stands for ``parameters["name"]``.
    parameters
        Values of the statement's parameters.
    limit
        Most rows to return; default: all.
    seconds
        Longest time that the statement may take.
    megabytes
        Most memory for its work, and most for its result.

    Raises
    ------
    DeapsError
        If the statement is refused, fails, or needs more time or memory.
    """
    connection = open_index(root)
    _lock_down(connection, resolve_root(root), megabytes)

    def ask() -> pa.Table:
        _check_statement(connection, sql)
        relation = connection.sql(sql, params=dict(parameters) if parameters else None)
        return _collect(relation if limit is None else relation.limit(limit), megabytes)

    return _in_time(connection, ask, seconds)


def _in_time(
    connection: DuckDBPyConnection, ask: Callable[[], pa.Table], seconds: float
) -> pa.Table:
    """Return what ``ask`` returns, in a thread of its own; interrupt it after ``seconds``.

    DuckDB looks for signals only between steps, and some steps take minutes: a thread that does
    not end is left behind, with its connection.
    """
    outcome: Future[pa.Table] = Future()

    def work() -> None:
        try:
            outcome.set_result(ask())
        except BaseException as error:
            outcome.set_exception(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        return _result(outcome, seconds)
    finally:
        connection.interrupt()
        thread.join(_LAST_WORDS_S)
        if not thread.is_alive():
            connection.close()


def _result(outcome: Future[pa.Table], seconds: float) -> pa.Table:
    import duckdb

    try:
        return outcome.result(seconds)
    except TimeoutError:
        message = (
            f"the statement took more than {seconds:g} s and was stopped; ask for less, or raise "
            "store.query_seconds"
        )
        raise DeapsError(message) from None
    except duckdb.OutOfMemoryException:
        message = "the statement needs more memory than store.query_megabytes; ask for less"
        raise DeapsError(message) from None
    except duckdb.PermissionException as error:
        cause = str(error).splitlines()[0]
        message = (
            f"{cause}. This command reads the store alone. To join other files, copy them into "
            "the store, or open its index.duckdb with read_only=True in your own DuckDB"
        )
        raise DeapsError(message) from None
    except duckdb.Error as error:
        raise DeapsError(str(error)) from None


def _collect(relation: DuckDBPyRelation, megabytes: float) -> pa.Table:
    """Return the rows of a relation; stop before they fill the memory."""
    import pyarrow as pa

    reader = relation.to_arrow_reader(_ROWS_AT_ONCE)
    batches, n_bytes = [], 0
    for batch in reader:
        n_bytes += batch.nbytes
        if n_bytes > megabytes * 1e6:
            raise DeapsError(
                f"the result has more than {megabytes:g} MB; ask for fewer rows or columns, or "
                "raise store.query_megabytes"
            )
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _lock_down(connection: DuckDBPyConnection, store: Path, megabytes: float) -> None:
    """Let the connection read the store alone: ``read_only`` does not stop COPY to any file."""
    folder = sql_literal(f"{store.as_posix()}/")
    connection.execute(f"SET memory_limit = '{megabytes:.3f}MB'")
    connection.execute("SET temp_directory = ''")
    hide_progress(connection)
    connection.execute(f"SET VARIABLE {STORE_VARIABLE} = {folder}")
    connection.execute(f"SET allowed_directories = [{folder}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _check_statement(connection: DuckDBPyConnection, sql: str) -> None:
    kinds = _kinds(connection, sql)
    explained = _EXPLAIN.match(sql) if kinds == ["EXPLAIN"] else None
    # EXPLAIN ANALYZE runs what it explains, COPY too, so that must be a SELECT as well.
    inner = _kinds_if_sql(connection, sql[explained.end() :]) if explained else kinds
    if inner != ["SELECT"]:
        given = " of ".join(["EXPLAIN", *inner] if explained else [", ".join(kinds) or "nothing"])
        message = f"the statement is {given}; allowed is one SELECT, or one EXPLAIN of a SELECT"
        raise DeapsError(message)


def _kinds(connection: DuckDBPyConnection, sql: str) -> list[str]:
    return [statement.type.name for statement in connection.extract_statements(sql)]


def _kinds_if_sql(connection: DuckDBPyConnection, sql: str) -> list[str]:
    import duckdb

    try:
        return _kinds(connection, sql)
    except duckdb.ParserException:  # options or comments, behind which anything could stand
        return ["something else"]
