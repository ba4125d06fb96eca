"""The index of 16 million windows: how long it takes to build, and to ask."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from storage.snapshot import open_index
from tests.bench.figure import Figure
from tests.bench.made_rows import narrow_recordings
from tests.bench.questions import QUESTIONS
from tests.storage.made_store import publish_rows

RECORDINGS, WINDOWS = 8444, 1915
ASK_TIMES = 3
FIRST_QUESTIONS = 5
"""The others are about sleep, which these windows do not have."""


def measure(folder: Path) -> list[Figure]:
    """Return the publisher's time against a bare CREATE TABLE AS, and the slowest question."""
    rows = narrow_recordings(folder / "store", RECORDINGS, WINDOWS)
    started = time.perf_counter()
    snapshot = publish_rows(folder / "store", rows)
    build_s = time.perf_counter() - started
    bare_s = bare_create(folder)
    answers = ask(folder / "store")
    answers = {name: answers[name] for name in list(QUESTIONS)[:FIRST_QUESTIONS]}
    seen = {"windows": snapshot.n_windows, "build_s": build_s, "bare_s": bare_s, **answers}
    return [
        Figure(
            "index of 16 million windows: build, against a bare CREATE TABLE AS",
            build_s / bare_s, "times as long", 3, 1.5, higher=False, seen=seen,
        ),
        Figure(
            "the slowest of the five named questions to it",
            max(answers.values()), "s", 0.5, 0.1, higher=False, seen=answers,
        ),
    ]  # fmt: skip


def bare_create(folder: Path) -> float:
    """Return how long DuckDB takes to create a table of the same rows from one Parquet file."""
    rows = folder / "rows.parquet"
    with open_index(folder / "store") as index:
        index.execute(f"COPY (SELECT * FROM windows) TO '{rows}' (FORMAT parquet)")
    started = time.perf_counter()
    with duckdb.connect(folder / "bare.duckdb") as bare:
        bare.execute(f"CREATE TABLE windows AS SELECT * FROM read_parquet('{rows}')")
        bare.execute("CHECKPOINT")
    return time.perf_counter() - started


def ask(store: Path) -> dict[str, float]:
    """Return the seconds of each question, the fastest of a few; each run fetches all rows."""
    seconds = {}
    with open_index(store) as index:
        for name, sql in QUESTIONS.items():
            parameters = {"subject": "201234"} if "$subject" in sql else {}
            times = []
            for _ in range(ASK_TIMES):
                started = time.perf_counter()
                index.execute(sql, parameters).fetchall()
                times.append(time.perf_counter() - started)
            seconds[name] = min(times)
    return seconds
