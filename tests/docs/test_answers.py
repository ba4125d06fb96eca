"""The packed runs of the open experiment: each is a run that the preset plans, with its answers."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from deaps.models.contract import CONTRACT_KEY
from deaps.models.encoder_file import SHIPPED, WEIGHTS_NAME, encoder_bytes, read_about
from deaps.packed_run import PACKED_SUFFIX
from deaps.training.run_folder import run_path
from flows.config import load_settings
from flows.experiment.plan import plan_experiment
from storage.files import RUN_NAME

ENCODERS_NAME = "encoders.json"
ANSWERS = Path(__file__).parents[2] / "docs" / "answers"
PACKED = sorted(ANSWERS.glob(f"*{PACKED_SUFFIX}"))


def read_json(path: Path, name: str) -> dict[str, Any]:
    with tarfile.open(path) as archive:
        file = archive.extractfile(name)
        assert file is not None
        content: dict[str, Any] = json.load(file)
        return content


def test_all_runs_are_of_one_snapshot() -> None:
    assert len({read_json(path, RUN_NAME)["snapshot"] for path in PACKED}) == 1


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name.split(".")[0])
def test_a_packed_run_is_one_that_the_preset_plans(path: Path) -> None:
    result = read_json(path, RUN_NAME)
    precision = result["config"]["training"]["precision"]
    settings = load_settings(preset="open", overrides=[f"training.precision={precision}"])
    plans = [trained.plan for trained in plan_experiment(settings).trained]
    names = {run_path(Path("store"), plan, result["snapshot"]).name for plan in plans}
    assert path.name.removesuffix(PACKED_SUFFIX) in names


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name.split(".")[0])
def test_a_packed_run_has_answers_and_no_weights(path: Path) -> None:
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert [name for name in names if name.endswith(".answers")]
    assert not [name for name in names if name.endswith(".safetensors")]


def test_the_shipped_encoder_is_the_last_of_its_run() -> None:
    """Its contract has two keys more than the file of its run, which was written before them."""
    file = SHIPPED / WEIGHTS_NAME
    about = read_about(file)
    digests = read_json(ANSWERS / f"{about['run']}{PACKED_SUFFIX}", ENCODERS_NAME)
    contract = json.loads(about[CONTRACT_KEY])
    del contract["algorithms"], contract["channels"], about["sha256"]
    about[CONTRACT_KEY] = json.dumps(contract, separators=(",", ":"))
    written = encoder_bytes(load_file(file), about)
    assert hashlib.sha256(written).hexdigest() == digests[max(digests, key=int)]


def test_no_weights_lie_beside_the_packed_runs() -> None:
    assert {path.suffix for path in ANSWERS.iterdir()} == {".tar"}
