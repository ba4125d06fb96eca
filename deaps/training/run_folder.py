"""A run's folder: what is trained, on which snapshot, and whether it is finished.

``config.toml`` is written first and says all that the training depends on; ``index.duckdb`` is
the snapshot that it started from, hard-linked; ``run.json`` is written last.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from deaps.config import ModelSettings, SamplingSettings, TrainingSettings
from deaps.method_registry import find_method
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.files import (
    INDEX_NAME,
    RUN_NAME,
    RUNS_FOLDER,
    digest_of,
    file_sha256,
    index_path,
    replacing,
    write_digests,
)
from storage.packages import code_version
from storage.snapshot import open_index, read_snapshot

CONFIG_NAME = "config.toml"
_FAILURE_NAME = "failure.txt"
_ENCODERS, _NOTE_SUFFIX = "encoders", ".sha256"
TRAINING_VERSION = 1
"""Raise this when the same plan would be trained otherwise: it is part of a run's name."""

_DIGEST_LENGTH = 10


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a training depends on, besides the snapshot."""

    method: str
    model: ModelSettings
    sampling: SamplingSettings
    training: TrainingSettings
    normalise: Normalisation

    @property
    def iterations(self) -> int:
        """Steps of this method."""
        return find_method(self.method).iterations(self.training)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, in the words of the configuration."""
        return {
            "method": self.method,
            "normalise": self.normalise,
            "model": self.model.model_dump(mode="json"),
            "sampling": self.sampling.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
        }

    def identity(self) -> dict[str, Any]:
        """Return what of the plan names a run: all that changes what is learned."""
        values = self.as_dict()
        del values["training"]["last_encoder_only"]
        if not self.sampling.mixed_chains:
            del values["sampling"]["mixed_chains"]
        if TRAINING_VERSION > 1:
            values["version"] = TRAINING_VERSION
        if not self.model.own:  # runs from before there was such a table keep their names
            del values["model"]["own"]
        return values


@dataclass(frozen=True, slots=True)
class Run:
    """One training: its folder, its plan and the snapshot it is trained on."""

    folder: Path
    plan: TrainingPlan
    snapshot_id: str
    started_at: str

    @property
    def name(self) -> str:
        """Name of the run: the method and the beginning of the digest."""
        return self.folder.name

    @property
    def store(self) -> Path:
        """Root of the store that holds the run."""
        return self.folder.parent.parent

    @property
    def index(self) -> Path:
        """The index that the run started from."""
        return self.folder / INDEX_NAME

    @property
    def config_digest(self) -> str:
        """Digest of plan and snapshot."""
        return digest_of(self.plan.identity(), self.snapshot_id)

    @property
    def finished(self) -> bool:
        """Whether the training is complete."""
        return (self.folder / RUN_NAME).exists()


def create_run(store: Path, plan: TrainingPlan) -> Run:
    """Return the run of ``plan`` on the published snapshot; one that was begun is opened again."""
    with open_index(store) as index:
        snapshot_id = read_snapshot(index).snapshot_id
    folder = run_path(store, plan, snapshot_id)
    if not (folder / CONFIG_NAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        link_index(store, folder)
        values = {"snapshot": snapshot_id, "started_at": _now()} | plan.as_dict()
        with replacing(folder / CONFIG_NAME) as temporary:
            temporary.write_text(to_toml(values), encoding="utf-8")
    return open_run(folder)


def run_path(store: Path, plan: TrainingPlan, snapshot_id: str) -> Path:
    """Return the folder of the run of ``plan`` on a snapshot, whether it is there or not."""
    digest = digest_of(plan.identity(), snapshot_id)
    return store.resolve() / RUNS_FOLDER / f"{plan.method}-{digest[:_DIGEST_LENGTH]}"


def open_run(folder: Path) -> Run:
    """Return the run in ``folder``.

    Raises
    ------
    DeapsError
        If there is none.
    DeapsError
        If its method is not registered here.
    """
    try:
        values = tomllib.loads((folder / CONFIG_NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DeapsError(f"no run at {folder}: it has no {CONFIG_NAME}") from None
    plan = TrainingPlan(
        method=find_method(values["method"]).name,
        model=ModelSettings.model_validate(values["model"]),
        sampling=SamplingSettings.model_validate(values["sampling"]),
        training=TrainingSettings.model_validate(values["training"]),
        normalise=values["normalise"],
    )
    return Run(folder, plan, values["snapshot"], values["started_at"])


def finish_run(run: Run, **facts: Any) -> None:
    """Write the mark of completion, with the fields of the index's table ``runs``."""
    fields = {
        "run": run.name,
        "method": run.plan.method,
        "snapshot": run.snapshot_id,
        "started_at": run.started_at,
        "finished_at": _now(),
        "iterations": run.plan.iterations,
        "config": run.plan.identity(),
        "code": code_version(),
    } | facts
    with replacing(run.folder / RUN_NAME) as temporary:
        temporary.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def read_end(folder: Path) -> dict[str, Any]:
    """Return what `finish_run` wrote into a run's folder.

    Raises
    ------
    OSError, ValueError
        If the run is not finished, or its mark is damaged.
    """
    fields: dict[str, Any] = json.loads((folder / RUN_NAME).read_bytes())
    return fields


def note_failure(folder: Path, reason: str) -> None:
    """Write why a training failed, for whoever started its process: it is not started again."""
    with replacing(folder / _FAILURE_NAME) as temporary:
        temporary.write_text(f"{reason}\n", encoding="utf-8")


def read_failure(folder: Path) -> str | None:
    """Return why the last process of a training failed, None if it did not say."""
    try:
        return (folder / _FAILURE_NAME).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def clear_failure(folder: Path) -> None:
    """Forget why an earlier process failed."""
    (folder / _FAILURE_NAME).unlink(missing_ok=True)


def encoder_path(run: Path, step: int) -> Path:
    """Return where a run keeps the encoder of one step."""
    return run / _ENCODERS / f"step-{step:08d}.safetensors"


def encoder_files(run: Path) -> Iterator[tuple[int, Path]]:
    """Yield the steps and files of a run's encoders, in order."""
    for path in sorted((run / _ENCODERS).glob("step-*.safetensors")):
        yield encoder_step(path), path


def encoder_digests(run: Path) -> dict[int, str]:
    """Return the SHA-256 of a run's encoders by step, also where a note stands for the weights."""
    notes = (run / _ENCODERS).glob(f"step-*{_NOTE_SUFFIX}")
    noted = {encoder_step(path): path.read_text(encoding="ascii").strip() for path in notes}
    return noted | {step: file_sha256(path) for step, path in encoder_files(run)}


def note_encoder(run: Path, step: int, sha256: str) -> None:
    """Write the digest of an encoder whose weights are not here."""
    path = encoder_path(run, step).with_suffix(_NOTE_SUFFIX)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{sha256}\n", encoding="ascii")


def encoder_step(path: Path) -> int:
    """Return the step that an encoder's file is named after."""
    return int(path.stem.removeprefix("step-"))


def to_toml(values: Mapping[str, Any]) -> str:
    """Return nested tables of plain values as TOML, which has no None: such keys are left out."""
    return tomli_w.dumps(_without_none(values))


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_none(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


def link_index(store: Path, folder: Path) -> None:
    """Hard-link the published index into a run's folder; copy it where that cannot be linked."""
    source, target = index_path(store), folder / INDEX_NAME
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    write_digests(target, [file_sha256(target)])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
