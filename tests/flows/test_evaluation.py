"""The evaluation stage in one process, without Prefect: the same calls."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from deaps.evaluation.answers import AnswersByKey, write_answers
from deaps.evaluation.document import DatasetLabels, Evaluation, read_evaluation
from deaps.evaluation.examples import Windows
from deaps.evaluation.plan import followed_benchmarks, plan_benchmarks, windows_of
from deaps.evaluation.probes import Answers
from deaps.packed_run import pack_run, unpack_run
from deaps.training.run_folder import to_toml
from flows import evaluate
from flows.cli import app
from flows.config import ExecutionSettings, Settings, load_settings, overridden
from flows.evaluate import report_title
from flows.experiment import jobs
from flows.experiment.inputs import list_features, wanted_answers
from flows.experiment.jobs import WindowSource, run_folds
from flows.experiment.state import (
    ExperimentState,
    is_complete,
    load_state,
    result_rows,
    save_evaluation,
)
from flows.features import missing_by_run
from flows.runtime.dask_pool import worker_pool
from flows.runtime.run_context import RunContext
from storage.errors import DeapsError
from storage.publish import republish
from storage.snapshot import open_index
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.flows.inline_evaluation import LABELS, evaluate_inline, one_worker, train_some

if TYPE_CHECKING:
    from distributed import Client

OVERRIDES = (
    'sampling.datasets=["shhs"]', "training.batch=4", "training.iterations=2",
    "training.evolution_every=1", "training.checkpoint_every=2", "training.metrics_every=1",
    'experiment.methods=["byol", "pclr"]', 'experiment.ablations=["components"]',
    "experiment.trials.hot={"
    'overrides = ["training.learning_rate=0.01", "deaps.gradual=false"]}',
    "benchmarks.gender_subjects=20", "benchmarks.few_recordings=2", "benchmarks.few_draws=2",
    "benchmarks.bootstrap=20", "benchmarks.few_label_draws=2", "experiment.reference=byol",
    "experiment.shipped=true",
)  # fmt: skip


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with one_worker() as client:
        yield client


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A labelled store with two methods and a trial trained; DEAPS needs longer recordings."""
    root = make_labelled_store(tmp_path_factory.mktemp("evaluated"))
    settings = load_settings(overrides=[f"store.root={root}", *OVERRIDES])
    train_some(settings, "byol", "pclr", "hot")
    yield settings
    jobs._store.cache_clear()  # a worker's store has its window files open


@pytest.fixture(scope="module")
def measured(settings: Settings, client: Client) -> tuple[Evaluation, AnswersByKey]:
    return evaluate_inline(settings, client)


@pytest.mark.slow
def test_folds_of_a_killed_worker_are_done_again(
    settings: Settings, measured: tuple[Evaluation, AnswersByKey]
) -> None:
    state = load_state(settings)
    with open_index(settings.store.root) as index:
        plans, _ = plan_benchmarks(index, settings.benchmarks, {}, LABELS)
    files = list_features(state, windows_of(plans.values()))
    with worker_pool(ExecutionSettings(workers=2)) as client:
        pids = list(client.run(os.getpid).values())

        def kill_one(_: int) -> None:
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        wanted = wanted_answers(state, files, plans)
        assert set(measured[1]) == {request.key for request in wanted}
        _forget_answers(settings)  # a process with other threads gave them: they differ by rounding
        undisturbed = run_folds(wanted, plans, client)
        _forget_answers(settings)
        again = run_folds(wanted, plans, client, kill_one)
    _assert_equal(undisturbed, again)
    assert not pids


def _forget_answers(settings: Settings) -> list[Path]:
    """Remove the answers on disk, and return where they lay."""
    files = list(settings.store.root.rglob("*.answers"))
    for file in files:
        file.unlink()
    return files


def test_a_fold_is_fitted_once(
    settings: Settings,
    client: Client,
    measured: tuple[Evaluation, AnswersByKey],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is there is read; what a kill or damage took away is fitted again, and equal."""
    written = []

    def noted(path: Path, answers: Sequence[Answers]) -> None:
        written.append(path)
        write_answers(path, answers)

    monkeypatch.setattr(jobs, "write_answers", noted)
    answers = evaluate_inline(settings, client)[1]
    assert not written
    _assert_equal(answers, measured[1])
    damaged = next(settings.store.root.rglob("*.answers"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    answers = evaluate_inline(settings, client)[1]
    assert written == [damaged]
    _assert_equal(answers, measured[1])


def _assert_equal(one: AnswersByKey, other: AnswersByKey) -> None:
    assert one.keys() == other.keys()
    for key, answers in one.items():
        for before, after in zip(answers, other[key], strict=True):
            np.testing.assert_array_equal(before.labels, after.labels)
            np.testing.assert_array_equal(before.scores, after.scores)


@pytest.fixture(scope="module")
def brought(
    settings: Settings,
    measured: tuple[Evaluation, AnswersByKey],
    tmp_path_factory: pytest.TempPathFactory,
) -> Settings:
    """Another store with the same recordings, to which the runs were brought as packed files."""
    root = make_labelled_store(tmp_path_factory.mktemp("brought"))
    packed = tmp_path_factory.mktemp("packed")
    for run in load_state(settings).runs.values():
        unpack_run(pack_run(run, packed), root)
    return overridden(settings, [f"store.root={root}"])


def test_runs_without_weights_give_the_figures_of_the_machine_that_packed_them(
    brought: Settings, measured: tuple[Evaluation, AnswersByKey], client: Client
) -> None:
    evaluation, answers = evaluate_inline(brought, client)
    _assert_equal(answers, measured[1])
    assert evaluation.benchmarks == measured[0].benchmarks
    assert evaluation.evolution == measured[0].evolution
    assert evaluation.few_labels == measured[0].few_labels
    assert not list(brought.store.root.glob("runs/*/features/*.parquet"))


def test_a_report_says_what_it_cannot_draw_without_weights(
    brought: Settings, client: Client
) -> None:
    evaluation, _ = evaluate_inline(brought, client)
    assert {pca.representation for pca in evaluation.pca} == {"random", "shipped"}
    assert "pca of byol: its run was brought without weights" in evaluation.absent


def test_answers_that_weights_alone_could_give_are_an_error(brought: Settings) -> None:
    other_windows = overridden(brought, ["benchmarks.gender_subjects=10"])
    with pytest.raises(DeapsError, match=r"byol, seed 0\) was brought without its weights"):
        missing_by_run(other_windows)


def test_runs_go_from_store_to_store_by_commands(
    settings: Settings, measured: tuple[Evaluation, AnswersByKey], tmp_path: Path
) -> None:
    config, packed = tmp_path / "deaps.toml", tmp_path / "packed"
    values = settings.model_dump(mode="json", include={"sampling", "training", "experiment"})
    config.write_text(to_toml(values))
    other = make_labelled_store(tmp_path / "other")
    ask = CliRunner().invoke
    given = ["--config", str(config), "--set"]
    done = ask(app, ["pack", str(packed), *given, f"store.root={settings.store.root}"])
    assert done.exit_code == 0, done.output
    assert len(list(packed.glob("*.run.tar"))) == len(load_state(settings).runs)
    done = ask(app, ["unpack", str(packed), *given, f"store.root={other}"])
    assert "3 runs added, 0 were there already" in done.output
    done = ask(app, ["unpack", str(packed), *given, f"store.root={other}"])
    assert "0 runs added, 3 were there already" in done.output
    with duckdb.connect(other / "index.duckdb", read_only=True) as index:
        assert index.execute("SELECT count(*) FROM runs").fetchone() == (3,)


def test_a_blind_evaluation_keeps_the_answers_of_runs_and_computes_no_figure(
    settings: Settings,
    measured: tuple[Evaluation, AnswersByKey],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    root = shutil.copytree(settings.store.root, tmp_path / "store", symlinks=True)
    blind = overridden(settings, [f"store.root={root}"])
    forgotten = {path.relative_to(root) for path in _forget_answers(blind)}
    monkeypatch.setattr(evaluate, "worker_pool", lambda *_: one_worker())
    monkeypatch.delattr(evaluate, "figures")
    evaluate.answer_blindly(RunContext(blind))
    kept = {path.relative_to(root) for path in root.rglob("*.answers")}
    assert kept == {path for path in forgotten if path.parts[0] == "runs"} != forgotten
    for path in kept:
        assert (root / path).read_bytes() == (settings.store.root / path).read_bytes()
    assert not (root / "reports").exists()


def test_a_packed_run_without_answers_is_pointed_out(settings: Settings, tmp_path: Path) -> None:
    root = shutil.copytree(settings.store.root, tmp_path / "store", symlinks=True)
    config = tmp_path / "deaps.toml"
    values = settings.model_dump(mode="json", include={"sampling", "training", "experiment"})
    config.write_text(to_toml(values))
    _forget_answers(overridden(settings, [f"store.root={root}"]))
    given = ["pack", str(tmp_path / "packed"), "--config", str(config)]
    done = CliRunner().invoke(app, [*given, "--set", f"store.root={root}"])
    assert done.output.count("no answers yet; run deaps evaluate first") == 3


def test_untrained_runs_are_named_and_left_out(settings: Settings) -> None:
    state = load_state(settings)
    assert set(state.runs) == {("byol", 0), ("pclr", 0), ("hot", 0)}
    assert [text.split(":")[0] for text in state.missing] == [
        "+ covariance, seed 0",
        "+ gradual loss, seed 0",
        "+ mask (DEAPS), seed 0",
    ]


def test_features_are_named_by_what_their_windows_hold(settings: Settings) -> None:
    """A number of a recording is of one index: after it is built anew, it may be another's."""

    def names(state: ExperimentState, number: int, content: int) -> dict[str, Path]:
        ids, rows = np.array([number], np.int32), np.array([0], np.int32)
        windows = Windows(ids, rows, np.array([content], np.uint64))
        return {file.representation: file.path for file in list_features(state, windows)}

    state = load_state(settings)
    first = names(state, 1, 9)
    assert names(state, 2, 9) == first
    assert names(replace(state, snapshot_id="another"), 1, 9) == first
    other = names(state, 1, 8)
    assert all(first[name] != other[name] for name in ("random", "classical", "byol"))


def test_features_that_a_pool_is_asked_for_are_of_runs_alone(settings: Settings) -> None:
    other_windows = overridden(settings, ["benchmarks.gender_subjects=10"])
    runs = {run.name for run in load_state(settings).runs.values()}
    assert set(missing_by_run(other_windows)) == runs


def test_features_are_refused_of_a_snapshot_that_is_no_longer_published(settings: Settings) -> None:
    windows = Windows(np.array([1], np.int32), np.array([0], np.int32), np.array([9], np.uint64))
    with pytest.raises(DeapsError, match="run it again"):
        WindowSource(settings.store.root, "another").read(windows, "recording")


def test_nothing_is_evaluated_before_anything_is_trained(settings: Settings) -> None:
    untrained = overridden(settings, ["training.seed=99"])
    with pytest.raises(DeapsError, match="none of the experiment's 6 runs is finished"):
        evaluate.evaluate(RunContext(untrained))


def test_sentences_have_the_data_sets_names_for_people(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    evaluation, _ = measured
    protocols = {benchmark.name: benchmark.protocol for benchmark in evaluation.benchmarks}
    assert (
        "of MIT-ARR that have AFib, tested on all recordings of MIT-AFIB"
        in (protocols["afib-transfer"])
    )
    text = " ".join((*protocols.values(), *(e.strip.caption for e in evaluation.quality_examples)))
    assert not [name for name in LABELS if re.search(rf"\b{name}\b", text)]
    assert "data set SHHS" in evaluation.provenance.digests


def test_the_title_has_the_names_for_people_of_parts_too() -> None:
    settings = load_settings(overrides=['sampling.datasets=["shhs", "cpsc2021:set-I"]'])
    title = report_title(settings, DatasetLabels(shhs="SHHS", cpsc2021="CPSC 2021"))
    assert title.endswith("trained on SHHS, CPSC 2021 (set-I)")


def test_every_representation_has_every_reported_benchmark(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    evaluation, _ = measured
    reported = [b for b in evaluation.benchmarks if b.reported]
    assert [b.name for b in reported] == [
        "afib-transfer",
        "afib-loo",
        "afib-loo-fitted",
        "gender",
        "challenge2017",
        "challenge2017-leaking",
    ]
    for benchmark in reported:
        found = {outcome.representation for outcome in benchmark.outcomes}
        assert found == {"random", "classical", "rr", "shipped", "byol", "pclr", "byol + rr"}


def test_what_a_benchmark_declares_as_seen_is_in_its_record(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    seen = {b.name: b.seen for b in measured[0].benchmarks}
    assert seen["gender"] is not None
    assert seen["gender"].startswith("20 of 20 tested people are in the pre-training of byol")
    assert seen["gender"].endswith("the benchmark declares it.")
    assert seen["afib-loo"] is None


def test_the_reference_is_compared_with_the_shipped_encoder(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    benchmark = next(b for b in measured[0].benchmarks if b.name == "challenge2017")
    comparison = benchmark.comparison("baselines", "accuracy")
    assert comparison is not None
    assert "shipped" in {difference.comparator for difference in comparison.differences}


def test_a_trial_is_judged_by_the_inner_folds_alone(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    _, answers = measured
    names = {key.benchmark for key in answers if key.representation == "hot"}
    assert names == {"inner-folds", "inner-few"}


def test_settings_of_one_training_alone_are_told_among_its_deviations(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    deviations = {each.name: each.deviations for each in measured[0].representations}
    assert deviations["hot"][-1].startswith(
        "Trained with training.learning_rate=0.01, deaps.gradual=fal"
    )
    assert not any("Trained with" in text for text in deviations["byol"])


def test_evolution_has_a_point_for_each_encoder_file(
    measured: tuple[Evaluation, AnswersByKey],
) -> None:
    evaluation, _ = measured
    three_classes, two_classes = ("challenge2017", "inner-folds"), ("afib-transfer", "inner-few")
    assert {(e.representation, e.benchmark, e.metric) for e in evaluation.evolution} == {
        (name, benchmark, metric)
        for name in ("byol", "pclr")
        for metric, benchmarks in {
            "accuracy": three_classes + two_classes,
            "auroc": two_classes,
        }.items()
        for benchmark in benchmarks
    }
    assert {e.steps for e in evaluation.evolution} == {(0, 1, 2)}


def test_evolution_follows_the_subject_benchmark_where_the_transfer_is_not_run() -> None:
    plans = dict.fromkeys(["afib-loo", "challenge2017", "gender"])
    assert followed_benchmarks(plans) == ["afib-loo", "challenge2017"]  # type: ignore[arg-type]


def test_a_data_set_that_is_not_there_is_told_with_its_place(tmp_path: Path) -> None:
    root = make_labelled_store(tmp_path)
    overrides = [f"store.root={root}", "benchmarks.gender=ecgiddb", "data.ecgiddb=/nowhere/ecgid"]
    with open_index(root) as index:
        settings = load_settings(overrides=overrides)
        _, not_run = plan_benchmarks(
            index, settings.benchmarks, settings.data.roots(), DatasetLabels(ecgiddb="ECG-ID")
        )
    assert not_run == {"gender": "ECG-ID was not available: no data at /nowhere/ecgid"}


def test_the_document_survives_its_file_and_reaches_the_index(
    settings: Settings, measured: tuple[Evaluation, AnswersByKey]
) -> None:
    evaluation, _ = measured
    folder = load_state(settings).folder
    assert not is_complete(folder)
    save_evaluation(evaluation, folder)
    assert is_complete(folder)
    assert read_evaluation(folder) == evaluation
    republish(settings.store.root)
    with duckdb.connect(settings.store.root / "index.duckdb", read_only=True) as index:
        sql = "SELECT count(*) FROM results WHERE benchmark = 'gender' AND metric = 'accuracy'"
        assert index.execute(sql).fetchone() == (7,)
    assert load_state(settings).evaluated  # results do not change the snapshot


def test_results_say_what_was_not_run(measured: tuple[Evaluation, AnswersByKey]) -> None:
    evaluation, _ = measured
    gone = evaluation.benchmarks[0].model_copy(
        update={"not_run": "no data at x", "outcomes": (), "facts": None}
    )
    rows = result_rows(evaluation.model_copy(update={"benchmarks": (gone,)}))
    assert rows == [{"benchmark": "afib-transfer", "note": "not run: no data at x"}]


def test_report_is_written_from_the_document_alone(
    settings: Settings, measured: tuple[Evaluation, AnswersByKey], tmp_path: Path
) -> None:
    evaluation, _ = measured
    folder = tmp_path / "reports" / evaluation.id
    folder.mkdir(parents=True)
    save_evaluation(evaluation, folder)
    result = CliRunner().invoke(app, ["report", "--set", f"store.root={tmp_path}"])
    assert result.exit_code == 0, result.output
    assert (folder / "index.html").exists()


def test_report_without_an_evaluation_says_what_to_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", "--set", f"store.root={tmp_path}"])
    assert result.exit_code == 2
    assert "run deaps evaluate" in result.output


def test_evaluate_without_a_finished_run_says_so(tmp_path: Path) -> None:
    root = make_labelled_store(tmp_path)
    result = CliRunner().invoke(app, ["evaluate", "--set", f"store.root={root}"])
    assert result.exit_code == 2
    assert "none of the experiment's 12 runs is finished" in result.output


@pytest.mark.parametrize(
    ("served", "link"),
    [(None, "file:///s/reports/abc/index.html"), ("http://lab/r/", "http://lab/r/abc/index.html")],
)
def test_the_report_is_linked_where_it_is_served(
    monkeypatch: pytest.MonkeyPatch, served: str | None, link: str
) -> None:
    from flows import report

    left: list[str] = []
    monkeypatch.setattr(report, "publish_link", lambda url, **_: left.append(url))
    overrides = [f"execution.reports_url={served}"] if served else []
    report.link_report(load_settings(overrides=overrides), Path("/s/reports/abc/index.html"))
    assert left == [link]
