"""Every setting with its value, its origin and its meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.cli.reference import SettingRow, settings_markdown, settings_table


@pytest.fixture(autouse=True)
def _work_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEAPS_CONFIG", raising=False)


def rows(**sources: object) -> dict[str, SettingRow]:
    return {row.setting: row for row in settings_table(**sources)}  # type: ignore[arg-type]


def test_every_setting_is_explained() -> None:
    assert [name for name, row in rows().items() if len(row.description) < 8] == []


def test_no_setting_is_missing() -> None:
    from flows.config import Settings

    sections = set(Settings.model_fields)
    assert {name.partition(".")[0] for name in rows()} == sections
    assert {"execution.slurm.partition", "data.shhs", "tfc.temperature"} <= rows().keys()


def test_the_origin_is_the_last_source_that_sets_a_value(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "demo"\n[training]\nbatch = 9\nseed = 4\n')
    found = rows(config=file, overrides=["training.seed=5"])
    origins = {name: found[f"training.{name}"].origin for name in ("iterations", "batch", "seed")}
    assert origins == {"iterations": "preset demo", "batch": str(file), "seed": "--set"}
    assert found["training.warmup"].origin == "default"
    assert (found["training.seed"].value, found["training.seed"].default) == ("5", "0")


def test_the_page_of_settings_has_every_setting() -> None:
    page = settings_markdown()
    assert [name for name in rows() if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize(
    ("part", "shown"), [("signal", "signal.highpass_hz = 0.5  [default]"), ("hz", "highpass_hz")]
)
def test_the_command_prints_a_section_or_what_has_that_name(part: str, shown: str) -> None:
    result = CliRunner().invoke(app, ["config", part])
    assert result.exit_code == 0, result.output
    assert shown in result.output
    assert "training.batch" not in result.output


def test_a_setting_that_is_not_there_is_refused_with_the_sections() -> None:
    result = CliRunner().invoke(app, ["config", "nonsense"])
    assert result.exit_code == 2
    assert "sections are data, store, signal" in result.output
