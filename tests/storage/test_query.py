from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import duckdb
import pytest

from storage import Snapshot, run_query
from storage.errors import DeapsError
from storage.snapshot import IndexMissingError
from tests.bench.questions import QUESTIONS


def test_a_question_is_answered_as_a_table(root: Path, published: Snapshot) -> None:
    table = run_query(root, "SELECT name, n_windows FROM recordings ORDER BY name")
    assert table.column_names == ["name", "n_windows"]
    assert table["n_windows"].to_pylist() == [4, 5, 6, 0]


def test_at_most_the_rows_asked_for_come(root: Path, published: Snapshot) -> None:
    assert run_query(root, "FROM windows", limit=7).num_rows == 7
    assert run_query(root, "FROM windows", limit=0).num_rows == 0
    assert run_query(root, "FROM windows", limit=700).num_rows == 15


def test_the_signal_can_be_asked_for_even_after_a_move(root: Path, published: Snapshot) -> None:
    moved = root.with_name("moved")
    root.rename(moved)
    table = run_query(moved, "SELECT signal FROM windows_with_signal WHERE recording_id = 2")
    assert len(table["signal"][4].as_py()) == 1000


@pytest.mark.parametrize("name", QUESTIONS)
def test_named_questions_have_answers(root: Path, published: Snapshot, name: str) -> None:
    parameters = {"subject": "s1"} if name == "subject" else None
    rows = {"quality": 3, "subject": 9, "cross-visit": 1, "quarantined": 1}
    assert run_query(root, QUESTIONS[name], parameters=parameters).num_rows == rows.get(name, 0)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "COPY windows TO '{root}/out.csv'",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "ATTACH '{root}/other.duckdb'",
        "PRAGMA database_list",
        "PRAGMA enable_profiling",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 1",
        "RESET lock_configuration",
        "SET VARIABLE deaps_store = '/'",
        "CREATE TABLE x AS SELECT 1",
        "CREATE TEMP TABLE x AS SELECT 1",
        "DELETE FROM windows",
        "DROP VIEW quarantined",
        "CALL pragma_version()",
        "EXPORT DATABASE '{root}/out'",
        "USE memory",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY windows TO '{root}/out.csv'",
        "EXPLAIN ANALYZE COPY windows TO '{root}/out.csv'",
        "EXPLAIN COPY windows TO '{root}/out.csv'",
        "EXPLAIN /* */ ANALYZE COPY windows TO '{root}/out.csv'",
        "EXPLAIN (ANALYZE) COPY windows TO '{root}/out.csv'",
        "/* */ EXPLAIN ANALYZE COPY windows TO '{root}/out.csv'",
        "-- x\nEXPLAIN ANALYZE COPY windows TO '{root}/out.csv'",
        "PREPARE p AS COPY windows TO '{root}/out.csv'",
    ],
)
def test_anything_but_one_question_is_refused(root: Path, published: Snapshot, sql: str) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(DeapsError, match="allowed is one SELECT, or one EXPLAIN of a SEL"):
        run_query(root, sql.format(root=root))
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize(
    ("sql", "given"),
    [
        ("", "nothing"),
        ("SELECT 1; LOAD httpfs", "SELECT, LOAD"),
        ("EXPLAIN COPY (SELECT 1) TO 'x'", "EXPLAIN of COPY"),
    ],
)
def test_a_refused_statement_is_named(
    root: Path, published: Snapshot, sql: str, given: str
) -> None:
    with pytest.raises(DeapsError, match=f"^the statement is {given}; allowed"):
        run_query(root, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('{root}/../outside.parquet')",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    ],
)
def test_files_outside_the_store_cannot_be_read(root: Path, published: Snapshot, sql: str) -> None:
    duckdb.sql("SELECT 1 AS x").write_parquet(str(root.parent / "outside.parquet"))
    with pytest.raises(DeapsError, match=r"disabled|does not exist"):
        run_query(root, sql.format(root=root))


def test_an_explanation_is_given(root: Path, published: Snapshot) -> None:
    for sql in (
        "EXPLAIN FROM windows",
        "explain analyze SELECT max(start_s) + 1 FROM windows WHERE row > 1",
    ):
        assert "windows" in run_query(root, sql)["explain_value"][0].as_py()


def test_a_faulty_question_says_where(root: Path, published: Snapshot) -> None:
    with pytest.raises(DeapsError, match='"qualty" not found'):
        run_query(root, "SELECT qualty FROM windows")


def test_without_an_index_nothing_is_asked(root: Path) -> None:
    with pytest.raises(IndexMissingError):
        run_query(root, "SELECT 1")


ENDLESS = {
    "many rows": "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000) c",
    "recursion": (
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n > 0) "
        "SELECT count(*) FROM t"
    ),
    "result": "SELECT a.range FROM range(1000000000) a, range(1000000000) b",
    "aggregate": "SELECT sum(sin(a.range) * b.range) FROM range(10000000) a, range(1000000) b",
    "sort": "SELECT * FROM (SELECT random() r FROM range(100000000000)) ORDER BY r LIMIT 5",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_statement_ends_in_time(root: Path, published: Snapshot, name: str) -> None:
    started = time.monotonic()
    with pytest.raises(DeapsError, match=r"took more than 1 s|memory|more than 100 MB"):
        run_query(root, ENDLESS[name], seconds=1, megabytes=100)
    assert time.monotonic() - started < 3


GREEDY = {
    "text": "SELECT repeat('x', 2000000000) AS t",
    "list": "SELECT list(range) FROM range(1000000000)",
    "result": "SELECT range, repeat('x', 1000) AS t FROM range(10000000)",
}


@pytest.mark.parametrize("name", GREEDY)
def test_greedy_statement_is_bounded(root: Path, published: Snapshot, name: str) -> None:
    with pytest.raises(DeapsError):
        run_query(root, GREEDY[name], seconds=20, megabytes=100)
    assert list(Path().glob(".tmp*")) == []


@pytest.mark.parametrize("name", ["many rows", "recursion"])  # others end at their limit
def test_ctrl_c_ends_a_statement_within_a_second(
    root: Path, published: Snapshot, name: str
) -> None:
    command = [sys.executable, "-c", "from flows.cli import main; main()", "query", ENDLESS[name]]
    process = subprocess.Popen(
        [*command, "--set", f"store.root={root}", "--set", "store.query_megabytes=500"],
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background inherit a SIGINT that is ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(4)
    assert process.poll() is None
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert time.monotonic() - sent < 3  # a second, and a busy machine
    assert process.returncode == 130
    assert said.splitlines()[1:] == ["deaps: stopped"]  # after the line of store and settings
