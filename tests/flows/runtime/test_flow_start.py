"""What every flow does first."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import load_settings
from flows.ingest.scan import Scan
from flows.runtime.flow_start import command_line, hand_over, handed_scan, start_flow


def test_the_recorded_command_leaves_out_what_is_the_machines() -> None:
    overrides = ["data.shhs=/home/x", "training.seed=1", "execution.workers=2", "store.root=/x"]
    recorded = command_line("run", "open", "/home/me/deaps.toml", overrides)
    assert recorded == "deaps run --preset open --config deaps.toml --set training.seed=1"


def test_a_flow_takes_over_what_its_command_has_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, scan = load_settings(overrides=["training.seed=5"]), Scan([], None, None)
    with hand_over(settings, scan):
        assert start_flow("open", None, None) == (settings, "open")
        assert handed_scan() is scan
    assert handed_scan() is None


def test_a_flow_without_arguments_or_file_has_the_defaults_of_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEAPS_CONFIG", raising=False)
    settings, preset = start_flow(None, None, None)
    assert (preset, settings.store.root) == (None, load_settings().store.root)
    assert capsys.readouterr().err == "store: store, settings: defaults\n"


def test_a_flow_reads_deaps_toml_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaps.toml").write_text('[store]\nroot = "mine"\n')
    monkeypatch.chdir(tmp_path)
    settings, preset = start_flow(None, None, None)
    assert (preset, settings.store.root) == (None, Path("mine"))
