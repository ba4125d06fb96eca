"""Tables on the screen: as a table, or row by row before columns become unreadable."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deaps.evaluation.document import write_evaluation
from flows.cli import app
from flows.cli.output import needed_width, print_table, write_rows
from flows.ingest.summary import Summary, render
from storage.errors import DeapsError
from tests.deaps.report.made_evaluation import made_evaluation

NARROW = pa.table({"name": ["a", "b"], "n": [1, 2]})
WIDE = pa.table({f"column_{place}": ["some text of a cell"] * 3 for place in range(9)})


def test_a_narrow_table_stays_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(NARROW, width=80)
    assert capsys.readouterr().out.split() == ["name", "n", "─" * 10, "a", "1", "b", "2"]


def test_numbers_are_aligned_on_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(pa.table({"n": [1, 1000], "x": [0.5, 10.25]}), width=80)
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["1", "0.5"]
    assert lines[3].rstrip().endswith("  0.5")
    assert lines[3].index("1") == lines[4].index("1000") + 3


def test_an_empty_result_is_said_to_be_empty(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(NARROW.slice(0, 0))
    assert capsys.readouterr().out == "0 rows of name, n\n"


def test_a_table_too_wide_for_the_screen_is_turned(capsys: pytest.CaptureFixture[str]) -> None:
    assert needed_width(WIDE) > 80
    print_table(WIDE, width=80)
    heads, *lines = (line.split() for line in capsys.readouterr().out.splitlines() if line.strip())
    assert heads == ["row", "1", "2", "3"]
    assert lines[1] == ["column_0", *["some", "text", "of", "a", "cell"] * 3]


def test_every_row_of_a_wide_result_of_few_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(pa.table({f"c{place}": ["x" * 18] * 7 for place in range(20)}), width=80)
    printed = capsys.readouterr()
    assert sum(line.split().count("x" * 18) for line in printed.out.splitlines()) == 7 * 20
    assert not printed.err


def test_a_wide_result_of_many_rows_says_how_to_have_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(pa.table({f"c{place}": ["x" * 18] * 40 for place in range(60)}), width=80)
    assert "the first 3 rows; all: --csv" in capsys.readouterr().err


def test_rows_go_to_json_and_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"a": 1}, {"a": 2}]
    assert write_rows(rows, json=True, parquet=tmp_path / "x.parquet")
    assert json.loads(capsys.readouterr().out) == rows
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == rows
    assert not write_rows(rows, json=False, parquet=None)


def test_a_file_that_is_not_parquet_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DeapsError, match="not a Parquet file"):
        write_rows([{"a": 1}], json=False, parquet=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_summary_on_a_narrow_screen_is_sentences() -> None:
    row = {"dataset": "folder", "recordings": 3, "subjects": 2, "windows": 10, "quarantined": 1}
    shares = {"Excellent": 5, "Barely acceptable": 5, "Unacceptable": 0}
    summary = Summary([row | shares], [], [], [{"dataset": "folder", "warning": "no table"}])
    assert str(render(summary, 80)).splitlines() == [
        "folder: 3 recordings of 2 subjects, 1 quarantined; 10 windows (0.0 h): 50.0 % Excellent, "
        "50.0 % Barely acceptable, 0.0 % Unacceptable",
        "warning, folder: no table",
    ]


def test_one_recording_is_counted_in_the_singular() -> None:
    row = {"dataset": "shhs", "recordings": 1, "subjects": 1, "windows": 1, "quarantined": 0}
    shares = {"Excellent": 1, "Barely acceptable": 0, "Unacceptable": 0}
    assert "shhs: 1 recording of 1 subject, " in str(
        render(Summary([row | shares], [], [], []), 80)
    )


def test_a_synthetic_data_set_says_so_in_the_summary() -> None:
    row = {"dataset": "shhs", "recordings": 3, "subjects": 2, "windows": 10, "quarantined": 1}
    shares = {"Excellent": 5, "Barely acceptable": 5, "Unacceptable": 0}
    summary = Summary([row | shares | {"synthetic": True}], [], [], [])
    assert str(render(summary, 80)).startswith("shhs (synthetic): 3 recordings")


def test_a_report_on_synthetic_data_says_so_by_the_names_that_people_know(tmp_path: Path) -> None:
    evaluation = made_evaluation().model_copy(update={"synthetic": ("mitdb", "ecgiddb")})
    (tmp_path / "reports/made").mkdir(parents=True)
    write_evaluation(evaluation, tmp_path / "reports/made")
    result = CliRunner().invoke(app, ["report", "--set", f"store.root={tmp_path}"])
    last = result.output.splitlines()[-1]
    assert last == "synthetic data, no person was recorded: MIT-ARR, ECG-ID"
