"""Identities in headers stay in the source files: all that is written and said is searched."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from flows.cli import app
from flows.config import Settings
from flows.ingest.recording import preprocess_chunk
from flows.ingest.scan import scan
from flows.ingest.summary import dataset_rows, problem_rows, summarise
from flows.monitoring.event_log import EventLog, log_publication, log_recordings, log_scan
from tests.deaps.models.made_encoder import write_encoder
from tests.flows.inline import ask, publish_results, settings_for
from tests.flows.prefect_processes import free_port, running, wait_for
from tests.flows.tiny_project import ROOT, environment, make_project
from tests.planted_identities import (
    OK,
    QUARANTINED,
    SENTENCE,
    SURNAME,
    identified,
    planted_files,
    traces,
    traces_in_files,
    write_cohorts,
)

DEAPS = Path(sys.executable).with_name("deaps")
TABLES = "SELECT name FROM (SHOW TABLES) WHERE name <> 'windows_with_signal'"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of a store that was made of identified files, with its log."""
    folder = tmp_path_factory.mktemp("privacy")
    settings = settings_for(folder / "store", **write_cohorts(folder / "data"))
    log, found = EventLog(settings.store.root), scan(settings)
    log_scan(log, found)
    results = [preprocess_chunk(job, [recording]) for job, recording in found.todo()]
    for result in results:
        log_recordings(log, result)
    snapshot = publish_results(found, results, settings)
    log_publication(log, snapshot, stage="preprocess")
    return settings


def deaps(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def every_value(index: Path) -> str:
    """Return all that the index holds apart from signals, as text."""
    with duckdb.connect(index, read_only=True) as connection:
        names = [name for (name,) in connection.execute(TABLES).fetchall()]
        return str([connection.execute(f"SELECT t::VARCHAR FROM {n} t").fetchall() for n in names])


def test_a_trace_would_be_found() -> None:
    assert traces(f"starts with {SURNAME[2:6]!r}")
    assert traces(SENTENCE.encode("utf-16-le"))
    assert not traces("EDF header: number of signals is not a number")


def test_files_are_planted_and_read_or_set_aside_as_meant(settings: Settings) -> None:
    roots = settings.data.roots().values()
    assert all(traces(path.read_bytes()) for path in planted_files(roots))
    statuses = dict(ask(settings, "SELECT name, status FROM recordings WHERE dataset = 'folder'"))
    assert statuses == dict.fromkeys(OK, "ok") | dict.fromkeys(QUARANTINED, "quarantined")


def test_no_file_of_the_store_and_its_log_holds_a_trace(settings: Settings) -> None:
    assert traces_in_files([settings.store.root]) == {}
    log = next(settings.store.root.glob("logs/*.jsonl"))
    assert traces(log.read_text()) == []


def test_no_value_of_the_index_holds_a_trace(settings: Settings) -> None:
    values = every_value(settings.store.root / "index.duckdb")
    assert "no ECG channel" in values
    assert traces(values) == []


def test_reasons_and_notes_say_what_is_wrong_without_quoting(settings: Settings) -> None:
    summary = summarise(settings.store.root)
    shown = str([*dataset_rows(summary), *problem_rows(summary)])
    assert "not an EDF file" in shown
    assert traces(shown) == []


@pytest.mark.parametrize(
    "command",
    [("scan", "--verbose"), ("status",), ("status", "--json"), ("doctor", "--verify"),
     ("query", "--csv", "SELECT * EXCLUDE (age) FROM recordings")],
    ids=" ".join,
)  # fmt: skip
def test_no_command_says_a_trace(settings: Settings, command: tuple[str, ...]) -> None:
    sets = [f"data.{name}={root}" for name, root in settings.data.roots().items()]
    sets.append(f"store.root={settings.store.root}")
    result = deaps(*command, *(argument for text in sets for argument in ("--set", text)))
    assert result.exit_code in (0, 1), result.output
    assert traces(result.output) == []


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from deaps import Encoder

    path = tmp_path_factory.mktemp("encoder") / "encoder.safetensors"
    write_encoder(path, Encoder())
    return path


@pytest.mark.parametrize("name", [*list(OK)[:2], "r1.hea", *QUARANTINED])
def test_embedding_a_file_leaves_no_trace(tmp_path: Path, encoder: Path, name: str) -> None:
    source, out = tmp_path / "source" / name, tmp_path / "out" / "embeddings.parquet"
    source.parent.mkdir()
    (OK | QUARANTINED)[name](source)
    result = deaps("embed", str(source), "--encoder", str(encoder), "--out", str(out))
    assert result.exit_code == (0 if name in OK else 2), result.output
    assert traces(result.output) == []
    assert traces_in_files([tmp_path / "out"]) == {}


@pytest.mark.slow
def test_the_flow_leaves_no_trace_anywhere(tmp_path: Path) -> None:
    roots = write_cohorts(tmp_path / "data")
    work = tmp_path / "work"
    for name in ("home", "tmp"):
        (work / name).mkdir(parents=True)
    environment = {
        **os.environ,
        "HOME": str(work / "home"),
        "TMPDIR": str(work / "tmp"),
        "PREFECT_HOME": str(work / "prefect"),
        "PREFECT_LOGGING_LEVEL": "DEBUG",
    }
    sets = [a for name, root in roots.items() for a in ("--set", f"data.{name}={root}")]
    shutil.copy(ROOT / "prefect.toml", work)
    serve = [str(DEAPS), "serve", f"--port={free_port()}", "--reports-port=0"]
    # Prefect's database, which is looked at below, is where a server is.
    with running(serve, work, environment, str(tmp_path / "serve")) as server:
        wait_for(lambda: "offering" in (tmp_path / "serve.log").read_text())
        done = subprocess.run(
            # Tiny chunks: small work would be one task.
            [DEAPS, "preprocess", *sets, "--set=execution.workers=1",
             "--set=execution.chunk_megabytes=0.01"],
            cwd=work, env=environment, capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert done.returncode == 0, done.stderr
    assert "no Prefect server here" not in done.stderr
    assert traces(done.stdout + done.stderr) == []
    assert traces(every_value(work / "store/index.duckdb")) == []
    assert traces_in_files([work]) == {}
    with sqlite3.connect(work / "prefect/prefect.db") as database:
        assert traces("\n".join(database.iterdump()), 6) == []


@pytest.mark.slow
def test_the_whole_pipeline_leaves_no_trace_in_report_and_pages(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    for path in (folder / "data/shhs").rglob("*.edf"):
        identified(path)
    (folder / "data").rename(tmp_path / "data")
    (folder / "deaps.toml").write_text(
        (folder / "deaps.toml").read_text().replace('"data/', f'"{tmp_path}/data/')
    )
    done = subprocess.run(
        [DEAPS, "run"],
        cwd=folder, env=environment(PREFECT_LOGGING_LEVEL="DEBUG"),
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert traces(done.stdout + done.stderr) == []
    assert list((folder / "store/reports").glob("*/index.html"))
    assert traces_in_files([folder]) == {}
