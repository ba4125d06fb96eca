"""The command line without Prefect: help, messages, exit codes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flows.cli import app
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for

COMMANDS = (
    "init", "channels", "run", "synth", "fetch", "scan", "preprocess", "train", "evaluate",
    "report", "serve", "embed", "export", "query", "doctor", "gc", "status", "deploy", "trace",
    "show", "schema", "config", "croissant", "pack", "unpack",
)  # fmt: skip
README = Path(__file__).parents[3] / "README.md"


def deaps(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(35)})
    os.utime(path, (1e9, 1e9))
    run(settings_for(tmp_path / "store", folder=tmp_path / "data"))
    return tmp_path / "store"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = deaps(command, "--help")
    assert result.exit_code == 0
    assert f"Example: deaps {command}" in " ".join(result.output.split())


def test_no_command_is_missing_here_or_in_the_readme() -> None:
    assert {command.callback.__name__ for command in app.registered_commands} == set(COMMANDS)
    text = README.read_text()
    assert [c for c in COMMANDS if not re.search(rf"deaps {c}\b", text)] == []


def page(*arguments: str) -> list[str]:
    """Return the lines of a help page on a screen of 80 columns."""
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [*arguments, "-h"]).output.splitlines()


def test_the_list_of_commands_has_every_description_in_full() -> None:
    assert [line for line in page() if line.endswith("...")] == [
        "Usage: deaps [OPTIONS] COMMAND [ARGS]..."
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_arguments_have_names_in_capitals_as_the_text_has_them(command: str) -> None:
    assert re.search(r"[{[][a-z]", page(command)[0]) is None


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_is_one_line_to_copy(command: str) -> None:
    lines = page(command)
    (place,) = [n for n, line in enumerate(lines) if line.startswith("  Example: deaps")]
    assert lines[place + 1] == ""


def test_every_line_of_help_fits_eighty_columns() -> None:
    pages = {name: CliRunner(env={"COLUMNS": "80"}).invoke(app, [name, "-h"]) for name in COMMANDS}
    assert [name for name, page in pages.items() if page.exit_code != 0] == []
    lines = [line for page in pages.values() for line in page.output.splitlines()]
    assert [line for line in lines if len(line) > 80] == []


def test_the_version_is_printed() -> None:
    assert deaps("--version").output == f"deaps {version('deaps')}\n"


def test_a_shell_completes_commands_and_presets() -> None:
    env = {**os.environ, "_DEAPS_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    done = subprocess.run(
        [Path(sys.executable).with_name("deaps")],
        env=env | {"COMP_WORDS": "deaps scan --preset "},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["demo", "open", "paper"]


def test_the_first_line_names_store_and_settings(store: Path) -> None:
    result = deaps("query", "FROM quality_by_dataset", "--set", "store.query_seconds=5")
    assert result.stderr.splitlines()[0] == "store: store, settings: --set"
    assert "store:" not in result.stdout


def test_scan_tells_what_and_why(store: Path) -> None:
    write_edf(store.parent / "data" / "b.edf", {"ECG": beats(35, seed=1)})
    result = deaps("scan", "--set", f"data.folder={store.parent / 'data'}", "--verbose")
    assert "1 to do (new)" in result.output
    assert "b.edf: new" in result.output


def test_scan_without_data_says_what_to_give(store: Path) -> None:
    result = deaps("scan")
    assert result.exit_code == 2
    assert "--set data.mitdb=" in result.output


def test_only_must_name_a_configured_data_set(store: Path) -> None:
    result = deaps("scan", "--set", "data.folder=data", "--only", "shhs")
    assert result.exit_code == 2
    assert "configured: folder" in result.output


def test_preprocess_with_nothing_to_do_starts_no_prefect(store: Path) -> None:
    code = (
        "import sys; sys.argv = ['deaps', 'preprocess', '--set', 'data.folder=data'];"
        "from flows.cli import app; app(standalone_mode=False);"
        "loaded = {'prefect', 'distributed', 'scipy', 'mne'} & set(sys.modules);"
        "assert not loaded, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=store.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "nothing to do: 1 recording is up to date" in done.stdout


def test_a_server_that_does_not_answer_is_named_and_the_work_done(tmp_path: Path) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(35)})
    done = subprocess.run(
        [Path(sys.executable).with_name("deaps"), "preprocess", "--set", "data.folder=data"],
        cwd=tmp_path,
        env={**os.environ, "PREFECT_API_URL": "http://127.0.0.1:9/api"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Failed to reach API at http://127.0.0.1:9/api" in done.stderr
    assert "working without Prefect" in done.stderr
    assert "Traceback" not in done.stderr


def test_preprocess_without_any_root_that_exists_stops(store: Path) -> None:
    result = deaps("preprocess", "--set", "data.shhs=/nowhere")
    assert result.exit_code == 2
    assert "no folder at /nowhere" in result.output


def test_strict_exits_with_one_where_something_is_flagged(store: Path) -> None:
    # The folder has no subjects.csv, which is a warning.
    arguments = ("preprocess", "--set", "data.folder=data")
    assert deaps(*arguments).exit_code == 0
    assert deaps(*arguments, "--strict").exit_code == 1


def test_query_prints_a_table_and_csv(store: Path) -> None:
    words = deaps("query", "FROM recordings").output.split()
    assert words[words.index("dataset") + 1] == "folder"
    assert "acceptable" in deaps("query", "FROM quality_by_dataset").output
    result = deaps("query", "--csv", "SELECT row, start_s FROM windows ORDER BY row")
    assert result.stdout.splitlines() == ["row,start_s", "0,0.0", "1,10.0", "2,20.0"]


@pytest.mark.parametrize(
    "sql", ["DROP TABLE windows", "COPY windows TO 'x.csv'", "SELECT nonsense"]
)
def test_query_refuses_and_explains(store: Path, sql: str) -> None:
    result = deaps("query", sql)
    assert result.exit_code == 2
    assert "\ndeaps: " in result.output
    assert "Traceback" not in result.output


def test_query_without_an_index_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = deaps("query", "FROM windows")
    assert result.exit_code == 2
    assert "run deaps preprocess" in result.output


def test_doctor_finds_a_changed_byte(store: Path) -> None:
    assert deaps("doctor", "--verify").exit_code == 0
    file = next(store.rglob("*.parquet"))
    data = bytearray(file.read_bytes())
    data[2000] ^= 1
    file.write_bytes(bytes(data))
    assert deaps("doctor").exit_code == 0
    assert deaps("doctor", "--verify").exit_code == 1


def test_gc_removes_what_nobody_names(store: Path) -> None:
    orphan = store / "windows/folder/old/0123456789abcdef.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"x")
    os.utime(orphan, (1e9, 1e9))
    assert "1 files would be removed" in deaps("gc", "--dry-run").output
    assert orphan.exists()
    deaps("gc")
    assert not orphan.exists()


def test_fetch_of_shhs_tells_the_steps() -> None:
    result = deaps("fetch", "shhs")
    assert result.exit_code == 2
    assert "sleepdata.org" in result.output
