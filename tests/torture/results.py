"""Relations between results and what they are made of: names of features, answers and the rest.

A name that stays although something changed returns a stale result; one that changes without a
reason makes everybody wait. And windows of two signal chains are never used as one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from deaps.embed import embed_windows
from deaps.evaluation.answers import FoldJob, answer_path, job_digest
from deaps.evaluation.examples import Windows
from deaps.evaluation.features import FeatureSource
from deaps.evaluation.representations import baseline_files
from deaps.models.encoder_file import EncoderFileError, require_chain_of_store
from deaps.sampling.window_pool import load_pool
from deaps.training.run_folder import create_run, note_encoder, run_path
from flows.cli import app
from flows.config import Settings, load_settings, overridden
from flows.experiment.plan import plan_experiment
from flows.experiment.state import evaluation_id, load_state
from storage.snapshot import MixedChainsError, open_index
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for
from tests.torture import planted
from tests.torture.child import BrokenError, forked
from tests.torture.relations import base

Check = Callable[[Path], None]


@lru_cache(maxsize=1)
def store() -> Path:
    """Return a store with labels, made once in this process."""
    folder = Path(tempfile.mkdtemp(prefix="results-"))
    forked(partial(make_labelled_store, folder))
    return folder


def settings(*overrides: str) -> Settings:
    """Return the settings of that store."""
    chosen = ('experiment.methods=["byol"]', "experiment.ablations=[]", *overrides)
    return load_settings(overrides=[f"store.root={store()}", *chosen])


def windows(number: int = 1, content: int = 9, row: int = 0) -> Windows:
    """Return one window by its recording's number, content and row."""
    return Windows(
        np.array([number], np.int32), np.array([row], np.int32), np.array([content], np.uint64)
    )


def features(of: Windows, source: FeatureSource, snapshot: str = "s") -> str:
    """Return the name of the features of windows."""
    (file,) = baseline_files(Path(), [source], of, snapshot)
    return file.path.name


def answers(job: FoldJob, names: tuple[str, ...] = ("f",), probe: str = "svm") -> str:
    """Return the name of the answers to a job."""
    return answer_path([Path(name) for name in names], job_digest(job), probe).name


def job(**changes: Any) -> FoldJob:
    """Return a job of four examples in one fold."""
    from deaps.evaluation.examples import Fold

    sides = (np.array([0, 1]), np.array([2, 3]))
    made = FoldJob(
        labels=np.array([0, 1, 0, 1]),
        windows=Windows(
            np.arange(4, dtype=np.int32), np.zeros(4, np.int32), np.arange(4, dtype=np.uint64)
        ),
        owner=np.arange(4),
        folds=(Fold("one", *sides),),
        n_classes=2,
    )
    return replace(made, **changes)


def _same(one: str, other: str) -> None:
    if one != other:
        raise BrokenError(f"{one} became {other}")


def _other(one: str, other: str) -> None:
    if one == other:
        raise BrokenError(f"{one} stayed")


RANDOM = FeatureSource("random", "recording", seed=1)


def _evaluation(*overrides: str, snapshot: str = "s", runs: dict[str, str] | None = None) -> str:
    return evaluation_id(settings(*overrides), snapshot, runs or {"byol-1": "a"})


def _split_content(folder: Path) -> None:
    path = folder / "split.csv"
    path.write_text("subject,side\n1,train\n")
    setting = f"benchmarks.sleep_split={path}"
    before = _evaluation(setting)
    path.write_text("subject,side\n1,test\n")
    _other(before, _evaluation(setting))


def _split_path(folder: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("subject,side\n1,train\n")
    names = [_evaluation(f"benchmarks.sleep_split={folder / n}") for n in ("a.csv", "b.csv")]
    _same(*names)


def _trained_again(_: Path) -> None:
    """Give a run of the same name other encoders."""
    state = load_state(settings())
    (trained,) = state.experiment.trained[:1]
    made = create_run(store(), trained.plan)
    names = []
    for digest in ("a" * 64, "b" * 64):
        note_encoder(made.folder, 2, digest)
        names.append(replace(state, runs={trained.key: made}).name)
    _other(*names)


def _run(*overrides: str, snapshot: str = "s") -> str:
    (trained,) = plan_experiment(settings(*overrides)).trained[:1]
    return run_path(store(), trained.plan, snapshot).name


def _mixed(use: Callable[[Settings], object]) -> Check:
    """Return a check that a use of windows of two chains is refused, and one of each is not."""

    def check(folder: Path) -> None:
        forked(partial(_use_mixed, folder, base(), use))

    return check


def _use_mixed(folder: Path, origin: Path, use: Callable[[Settings], object]) -> None:
    with planted.bug():
        roots = {"folder": origin / "data", "shhs": origin / "shhs"}
        first = settings_for(folder / "store", **roots)
        run(first)
        use(first)
        missing = {"folder": origin / "data", "shhs": folder / "not-mounted"}
        second = settings_for(folder / "store", "signal.highpass_hz=5", **missing)
        run(second)
        try:
            use(overridden(second, ["signal.highpass_hz=5"]))
        except (MixedChainsError, EncoderFileError) as error:
            if "highpass_hz" not in str(error):
                raise BrokenError(f"the setting is not named: {error}") from None
            return
        raise BrokenError("windows of two chains were used as one")


def _sample(settings: Settings) -> object:
    return load_pool(settings.store.root / "index.duckdb", settings.sampling)


def _expect(settings: Settings) -> object:
    """Ask for a data set with the encoder that the package ships."""
    with open_index(settings.store.root) as index:
        require_chain_of_store(None, index, "dataset = 'folder'")
    return embed_windows


def _escapes(folder: Path) -> None:
    """Look at what commands print of a file whose name would colour the terminal."""
    data = folder / "data"
    write_edf(data / "\x1b[31mred\x07.edf", {"ECG": beats(12)})
    write_edf(data / "\x1b]0;title\x07.edf", {"EEG": beats(12)})
    roots = ["--set", f"data.folder={data}", "--set", f"store.root={folder / 'store'}"]
    run(settings_for(folder / "store", folder=data))
    asked = "SELECT name, subject, reason FROM recordings"
    for command in (
        ["scan", "--verbose"], ["show"], ["query", asked], ["query", asked, "--json"], ["doctor"],
        ["status"], ["channels", str(data / "\x1b[31mred\x07.edf")],
        ["trace", "folder/\x1b[31mred/0"],
    ):  # fmt: skip
        options = roots if command[0] in ("scan", "channels") else roots[2:]
        printed = CliRunner().invoke(app, [*command, *options])
        if any(mark in printed.output for mark in ("\x1b", "\x07")):
            raise BrokenError(f"{command[0]} printed {printed.output!r}"[:300])


CHECKS: dict[str, Check] = {
    "features: another number of a recording, the same content: the same name":
        lambda _: _same(features(windows(1), RANDOM), features(windows(2), RANDOM)),
    "features: another content under the same number: another name":
        lambda _: _other(features(windows(), RANDOM), features(windows(content=8), RANDOM)),
    "features: another row: another name":
        lambda _: _other(features(windows(), RANDOM), features(windows(row=1), RANDOM)),
    "features: another snapshot of the same windows: the same name":
        lambda _: _same(features(windows(), RANDOM), features(windows(), RANDOM, "t")),
    "features scaled by data set: another snapshot: another name":
        lambda _: _other(*(features(windows(), replace(RANDOM, normalise="dataset"), snapshot)
                           for snapshot in "st")),
    "features: another seed: another name":
        lambda _: _other(features(windows(), RANDOM), features(windows(), replace(RANDOM, seed=2))),
    "features: another normalisation: another name":
        lambda _: _other(features(windows(), RANDOM),
                         features(windows(), replace(RANDOM, normalise="window"))),
    "features: another kind: another name":
        lambda _: _other(features(windows(), RANDOM),
                         features(windows(), FeatureSource("rr", "recording"))),
    "answers: another label: another name":
        lambda _: _other(answers(job()), answers(job(labels=np.array([0, 1, 1, 1])))),
    "answers: another content of a window: another name":
        lambda _: _other(answers(job()), answers(job(windows=replace(
            job().windows, content=np.array([0, 1, 2, 7], np.uint64))))),
    "answers: other numbers of recordings: the same name":
        lambda _: _same(answers(job()), answers(job(windows=replace(
            job().windows, recording_id=np.array([7, 8, 9, 6], np.int32))))),
    "answers: another probe: another name":
        lambda _: _other(answers(job()), answers(job(), probe="knn")),
    "answers: other features: another name":
        lambda _: _other(answers(job()), answers(job(), ("g",))),
    "evaluation: another content of the split's file: another name": _split_content,
    "evaluation: another path of the same split: the same name": _split_path,
    "evaluation: a run trained again under its name: another name": _trained_again,
    "evaluation: another snapshot: another name":
        lambda _: _other(_evaluation(), _evaluation(snapshot="t")),
    "evaluation: another setting of a benchmark: another name":
        lambda _: _other(_evaluation(), _evaluation("benchmarks.bootstrap=77")),
    "evaluation: another number of workers: the same name":
        lambda _: _same(_evaluation(), _evaluation("execution.workers=2")),
    "evaluation: one run more: another name":
        lambda _: _other(_evaluation(), _evaluation(runs={"byol-1": "a", "pclr-1": "b"})),
    "run: another snapshot: another name": lambda _: _other(_run(), _run(snapshot="t")),
    "run: another rate: another name":
        lambda _: _other(_run(), _run("training.learning_rate=0.5")),
    "run: another number of workers: the same name":
        lambda _: _same(_run(), _run("execution.workers=2")),
    "names of files: none of their control characters reaches the terminal": _escapes,
    "windows of two chains are not sampled as one": _mixed(_sample),
    "windows of another chain are not embedded by the shipped encoder": _mixed(_expect),
}  # fmt: skip


def result(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Try one relation after the other."""
    sentence, check = list(CHECKS.items())[number % len(CHECKS)]
    store()

    def attempt() -> None:
        with planted.bug():
            check(folder)

    try:
        if "chain" in sentence:  # it forks by itself
            check(folder)
        else:
            forked(attempt)
    except BrokenError as error:
        raise BrokenError(f"{sentence}: {error}") from None
