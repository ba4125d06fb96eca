"""Checkpoints: whole or not there, kept in number, refused when they are another's."""

from __future__ import annotations

import hashlib
import json
import pickle
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from safetensors.torch import save as safetensors_save
from torch import nn

from deaps import Encoder
from deaps.models.encoder_file import EncoderFileError, encoder_bytes, load_encoder
from deaps.training.checkpoints import (
    CheckpointError,
    load_checkpoint,
    remove_checkpoints,
    save_checkpoint,
    save_encoder,
)
from deaps.training.run_folder import encoder_files, encoder_path
from storage.files import CHECKPOINTS_FOLDER


def save(run: Path, step: int, method: nn.Module, *, keep: int = 2, name: str = "deaps") -> Path:
    return save_checkpoint(
        run,
        step,
        method=method,
        method_name=name,
        config_digest="d" * 64,
        state={"rng": torch.get_rng_state(), "step": step},
        keep=keep,
    )


def load(run: Path, method: nn.Module, said: list[str] | None = None) -> tuple[int, dict] | None:
    return load_checkpoint(
        run,
        method=method,
        method_name="deaps",
        config_digest="d" * 64,
        notify=(said if said is not None else []).append,
    )


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("n_bytes", [100, 60_000], ids=["weights", "state"])
def test_full_disk_is_an_error_of_the_system_and_leaves_no_half(
    tmp_path: Path, n_bytes: int
) -> None:
    method, state = nn.Linear(100, 100), {"moments": torch.zeros(100_000)}
    save(tmp_path, 1, method)
    with pytest.raises(OSError, match="step-00000002"), largest_file(n_bytes):
        save_checkpoint(
            tmp_path, 2, method=method, method_name="deaps", config_digest="d" * 64,
            state=state, keep=2,
        )  # fmt: skip
    assert [path.name for path in (tmp_path / CHECKPOINTS_FOLDER).iterdir()] == ["step-00000001"]
    assert (load(tmp_path, method) or (0, {}))[0] == 1


def test_weights_and_state_come_back(tmp_path: Path) -> None:
    saved, loaded = nn.Linear(3, 2), nn.Linear(3, 2)
    save(tmp_path, 7, saved)
    step, state = load(tmp_path, loaded) or (0, {})
    assert (step, state["step"]) == (7, 7)
    assert torch.equal(saved.weight, loaded.weight)


def test_nothing_to_load_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, nn.Linear(3, 2)) is None


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 30, 100):
        save(tmp_path, step, nn.Linear(3, 2))
    names = sorted(path.name for path in (tmp_path / CHECKPOINTS_FOLDER).iterdir())
    assert names == ["step-00000030", "step-00000100"]


@pytest.mark.parametrize("name", ["weights.safetensors", "state.pt", "checkpoint.json"])
@pytest.mark.parametrize("size", [0, 20])
def test_truncated_checkpoint_is_passed_over_and_said(tmp_path: Path, name: str, size: int) -> None:
    save(tmp_path, 1, nn.Linear(3, 2))
    file = save(tmp_path, 2, nn.Linear(3, 2)) / name
    file.write_bytes(file.read_bytes()[:size])
    said: list[str] = []
    loaded = load(tmp_path, nn.Linear(3, 2), said)
    assert loaded is not None
    assert loaded[0] == 1
    assert "damaged" in said[0]


def test_checkpoint_of_another_method_is_refused(tmp_path: Path) -> None:
    save(tmp_path, 1, nn.Linear(3, 2), name="byol")
    with pytest.raises(CheckpointError, match="belongs to method 'byol'"):
        load(tmp_path, nn.Linear(3, 2))


def test_unfinished_folder_is_not_a_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 1, nn.Linear(3, 2))
    (tmp_path / CHECKPOINTS_FOLDER / ".step-00000002.tmp").mkdir()
    assert (load(tmp_path, nn.Linear(3, 2)) or (0,))[0] == 1


def test_removed_checkpoints_leave_the_encoders(tmp_path: Path) -> None:
    save(tmp_path, 1, nn.Linear(3, 2))
    save_encoder(encoder_path(tmp_path, 1), nn.Linear(2, 2), {"architecture": "encoder"})
    remove_checkpoints(tmp_path)
    assert load(tmp_path, nn.Linear(3, 2)) is None
    assert [step for step, _ in encoder_files(tmp_path)] == [1]


def test_encoders_are_listed_by_step(tmp_path: Path) -> None:
    for step in (0, 1000, 20000):
        save_encoder(encoder_path(tmp_path, step), nn.Linear(2, 2), {"architecture": "encoder"})
    assert [step for step, _ in encoder_files(tmp_path)] == [0, 1000, 20000]


def test_equal_encoders_are_equal_bytes_in_every_process(tmp_path: Path) -> None:
    program = (
        "import sys, torch; from pathlib import Path; from torch import nn;"
        "from deaps.training.checkpoints import save_encoder; torch.manual_seed(1);"
        "about = {f'key {i}': 'value \u00b5' for i in range(12)};"
        "save_encoder(Path(sys.argv[1]), nn.Linear(5, 3), about)"
    )
    files = [tmp_path / f"{i}.safetensors" for i in range(3)]
    for file in files:
        subprocess.run([sys.executable, "-c", program, str(file)], check=True)
    assert len({file.read_bytes() for file in files}) == 1
    assert load_file(files[0]).keys() == {"weight", "bias"}


def test_pickle_offered_as_weights_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "evil.safetensors"
    file.write_bytes(pickle.dumps({"weight": [1, 2, 3]}))
    with pytest.raises(EncoderFileError, match="not a safetensors file"):
        load_encoder(file)


def test_foreign_safetensors_file_is_refused(tmp_path: Path) -> None:
    save_encoder(tmp_path / "x.safetensors", nn.Linear(2, 2), {"made": "elsewhere"})
    with pytest.raises(EncoderFileError, match="is not an encoder of this project"):
        load_encoder(tmp_path / "x.safetensors")


def test_missing_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderFileError, match="no encoder at"):
        load_encoder(tmp_path / "absent.safetensors")


class Spy:
    """Something whose unpickling would leave a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


def rewrite(folder: Path, name: str, content: bytes) -> None:
    """Replace a file of a checkpoint, and its digest with it."""
    (folder / name).write_bytes(content)
    about = json.loads((folder / "checkpoint.json").read_text())
    about["sha256"][name] = hashlib.sha256(content).hexdigest()
    (folder / "checkpoint.json").write_text(json.dumps(about))


def safetensors(**weights: torch.Tensor) -> bytes:
    return safetensors_save(weights)


DAMAGE = {
    "wrong shape": safetensors(weight=torch.zeros(3, 3), bias=torch.zeros(2)),
    "missing key": safetensors(weight=torch.zeros(2, 3)),
    "extra key": safetensors(weight=torch.zeros(2, 3), bias=torch.zeros(2), more=torch.zeros(1)),
    "NaN": safetensors(weight=torch.full((2, 3), torch.nan), bias=torch.zeros(2)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_weights_of_another_kind_are_passed_over_in_one_line(tmp_path: Path, damage: str) -> None:
    save(tmp_path, 1, nn.Linear(3, 2))
    rewrite(save(tmp_path, 2, nn.Linear(3, 2)), "weights.safetensors", DAMAGE[damage])
    said: list[str] = []
    assert (load(tmp_path, nn.Linear(3, 2), said) or (0,))[0] == 1
    assert len(said) == 1
    assert "\n" not in said[0]


def test_pickle_in_the_state_is_passed_over_and_never_executed(tmp_path: Path) -> None:
    save(tmp_path, 1, nn.Linear(3, 2))
    folder = save(tmp_path, 2, nn.Linear(3, 2))
    torch.save({"x": Spy(tmp_path / "executed")}, tmp_path / "evil.pt")
    for content in (pickle.dumps(Spy(tmp_path / "executed")), (tmp_path / "evil.pt").read_bytes()):
        rewrite(folder, "state.pt", content)
        said: list[str] = []
        assert (load(tmp_path, nn.Linear(3, 2), said) or (0,))[0] == 1
        assert len(said) == 1
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("damage", ["shape", "missing", "extra", "NaN", "settings"])
def test_encoder_of_other_weights_is_refused_in_one_line(tmp_path: Path, damage: str) -> None:
    weights = {k: v.clone() for k, v in Encoder().state_dict().items()}
    about = {"architecture": "encoder", "settings": "{}"}
    name = min(weights)
    match damage:
        case "shape":
            weights[name] = torch.zeros(1, 2, 3, 4)
        case "missing":
            del weights[name]
        case "extra":
            weights["other"] = torch.zeros(1)
        case "NaN":
            weights[name] = torch.full_like(weights[name], torch.nan)
        case _:
            about["settings"] = '{"width": "wide"'
    path = tmp_path / "e.safetensors"
    path.write_bytes(encoder_bytes(weights, about))
    with pytest.raises(EncoderFileError) as caught:
        load_encoder(path)
    assert "\n" not in str(caught.value)


def test_any_flipped_bit_of_an_encoder_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    save_encoder(path, Encoder(), {"architecture": "encoder", "settings": "{}"})
    whole = path.read_bytes()
    for at in torch.randint(0, len(whole), (30,), generator=torch.manual_seed(0)).tolist():
        content = bytearray(whole)
        content[at] ^= 4
        path.write_bytes(content)
        with pytest.raises(EncoderFileError):
            load_encoder(path)
