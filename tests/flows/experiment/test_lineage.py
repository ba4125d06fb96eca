"""Where figures and windows come from."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from deaps.evaluation.document import Evaluation
from flows.cli import app
from flows.experiment.provenance import (
    digest_of_sources,
    trace_figure,
    trace_window,
)
from flows.experiment.state import result_rows, save_evaluation, with_change
from storage.errors import DeapsError
from tests.deaps.report.made_evaluation import made_evaluation
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for

MADE = {"code": "0.1.0+abc", "settings_digest": "5e", "sources": 7, "sources_sha256": "50"}


def evaluation(**changes: object) -> Evaluation:
    made = made_evaluation()
    provenance = made.provenance.model_copy(update=MADE | changes)
    return made.model_copy(update={"provenance": provenance})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    save_evaluation(evaluation(), tmp_path / "reports" / evaluation().id)
    return tmp_path


def first_figure() -> tuple[str, str]:
    benchmark = next(each for each in evaluation().benchmarks if each.outcomes)
    return benchmark.name, benchmark.outcomes[0].representation


def test_a_figure_names_all_that_it_comes_from(store: Path) -> None:
    benchmark, name = first_figure()
    lines = dict(trace_figure(store, None, f"{benchmark}/{name}"))
    assert lines["benchmark"].startswith(f"{benchmark}: ")
    assert lines["snapshot"] == evaluation().provenance.snapshot_id
    assert lines["sources"] == "7 files, SHA-256 of their SHA-256s 50"
    assert lines["evaluated by"] == "deaps 0.1.0+abc"
    assert "run" in lines


def test_a_figure_that_is_not_there_lists_those_that_are(store: Path) -> None:
    benchmark, name = first_figure()
    with pytest.raises(DeapsError, match=f"such as .*{benchmark}/{name}"):
        trace_figure(store, None, "nonsense/deaps")


def test_the_index_has_the_same_keys_for_every_figure() -> None:
    for row in result_rows(evaluation()):
        if row.get("value") is not None:
            assert row["snapshot"] == evaluation().provenance.snapshot_id
            assert {name: row[name] for name in MADE} == MADE


def test_every_figure_says_whether_data_are_synthetic() -> None:
    made = evaluation().model_copy(update={"synthetic": ("shhs",)})
    rows = [row for row in result_rows(made) if row.get("value") is not None]
    assert {row["synthetic"] for row in rows} == {True}
    rows = [row for row in result_rows(evaluation()) if row.get("value") is not None]
    assert {row["synthetic"] for row in rows} == {False}


def test_a_window_names_its_source_and_hash(tmp_path: Path) -> None:
    source = write_edf(tmp_path / "data/sub/a.edf", {"ECG": beats(35)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    ((name,),) = ask(settings, "SELECT name FROM recordings")
    lines = dict(trace_window(tmp_path / "store", f"folder/{name}/2"))
    assert lines["window"].startswith(f"folder/{name}/2: 20 to 30 s")
    assert hashlib.sha256(source.read_bytes()).hexdigest() in lines["signal"]
    with pytest.raises(DeapsError, match="rows 0 to 2"):
        trace_window(tmp_path / "store", f"folder/{name}/3")
    with pytest.raises(DeapsError, match="dataset/recording/row"):
        trace_window(tmp_path / "store", "folder/nobody/0")


def test_the_digest_of_sources_is_that_of_their_sorted_digests(tmp_path: Path) -> None:
    for seed in range(3):
        write_edf(tmp_path / f"data/{seed}.edf", {"ECG": beats(20, seed=seed)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    files = sorted((tmp_path / "data").glob("*.edf"))
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    expected = hashlib.sha256("".join(f"{d}\n" for d in digests).encode()).hexdigest()
    with duckdb.connect(tmp_path / "store/index.duckdb", read_only=True) as index:
        assert digest_of_sources(index) == digest_of_sources(index, "folder") == (3, expected)
        assert digest_of_sources(index, "shhs")[0] == 0


def test_the_command_prints_a_line_for_each(store: Path) -> None:
    benchmark, name = first_figure()
    arguments = ["trace", "newest", f"{benchmark}/{name}", "--set", f"store.root={store}"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert f"snapshot: {evaluation().provenance.snapshot_id}" in result.output


def test_an_evaluation_is_compared_with_the_last_one_on_another_snapshot(tmp_path: Path) -> None:
    write_edf(tmp_path / "data/a.edf", {"ECG": beats(20)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    store = settings.store.root
    run(settings)
    earlier = evaluation(snapshot_id="1" * 64).model_copy(update={"id": "before"})
    save_evaluation(earlier, store / "reports/before")
    trained = next(r for each in earlier.representations for r in each.runs)
    (store / "runs" / trained.name).mkdir(parents=True)
    (store / "runs" / trained.name / "index.duckdb").hardlink_to(store / "index.duckdb")
    write_edf(tmp_path / "data/b.edf", {"ECG": beats(20, seed=1)})
    run(settings)
    change = with_change(evaluation(snapshot_id="2" * 64), store).change
    assert change is not None
    assert (change.report, change.before, change.after) == ("before", "1" * 64, "2" * 64)
    assert [(each.dataset, each.added) for each in change.recordings] == [("folder", 1)]
    same = with_change(evaluation(snapshot_id="1" * 64), store)
    assert same.change is None
    other = with_change(evaluation(snapshot_id="2" * 64, settings_digest="other"), store)
    assert other.change is None
