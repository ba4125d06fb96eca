"""``signal.channels_add``: what it redoes, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import Settings
from flows.ingest.scan import Why
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for, todo

ROWS = "SELECT name, status, digest, settings_digest, channel FROM recordings ORDER BY name"


def settings_with(folder: Path, *added: str) -> Settings:
    names = ", ".join(f'"{name}"' for name in added)
    return settings_for(folder / "store", f"signal.channels_add=[{names}]", folder=folder / "data")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import os

    for seed, (name, label) in enumerate({"a": "ECG", "b": "X9", "c": "EKG-R"}.items()):
        path = write_edf(tmp_path / f"data/{name}.edf", {label: beats(12, seed=seed)})
        os.utime(path, (1e9, 1e9))
    run(settings_with(tmp_path))
    return tmp_path


def test_an_added_name_redoes_only_what_lacked_a_channel(folder: Path) -> None:
    before = ask(settings_with(folder), ROWS)
    assert [row[1] for row in before] == ["ok", "quarantined", "ok"]
    settings = settings_with(folder, "x9")
    assert todo(settings) == {"b.edf": Why.CHANNELS}
    run(settings)
    after = ask(settings, ROWS)
    assert [row[1] for row in after] == ["ok", "ok", "ok"]
    assert (after[0], after[2]) == (before[0], before[2])
    assert todo(settings) == {}


def test_another_added_name_leaves_what_was_read_by_the_first(folder: Path) -> None:
    run(settings_with(folder, "X9"))
    assert todo(settings_with(folder, "Y", "X9")) == {}


def test_a_name_that_is_gone_redoes_what_was_read_by_it(folder: Path) -> None:
    run(settings_with(folder, "X9"))
    assert todo(settings_with(folder)) == {"b.edf": Why.CHANNELS}
    run(settings_with(folder))
    assert [row[1] for row in ask(settings_with(folder), ROWS)] == ["ok", "quarantined", "ok"]
