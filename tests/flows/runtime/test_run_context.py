"""What every stage is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import load_settings
from flows.runtime.run_context import StageParameters, load_context


def test_the_recorded_command_leaves_out_what_is_the_machines() -> None:
    overrides = ["data.shhs=/home/x", "training.seed=1", "execution.workers=2", "store.root=/x"]
    recorded = StageParameters("open", "/home/me/deaps.toml", overrides).command_line("run")
    assert recorded == "deaps run --preset open --config deaps.toml --set training.seed=1"


def test_a_deployment_without_parameters_has_the_defaults_of_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEAPS_CONFIG", raising=False)
    context = load_context(None, None, None)
    assert context.settings.store.root == load_settings().store.root
    assert capsys.readouterr().err == "store: store, settings: defaults\n"


def test_a_deployment_reads_deaps_toml_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaps.toml").write_text('[store]\nroot = "mine"\n')
    monkeypatch.chdir(tmp_path)
    assert load_context(None, None, None).settings.store.root == Path("mine")
