"""What a new version of a reader, a step or a scoring redoes, and windows of two chains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import flows.ingest.scan
import preprocessing.config
from deaps.models.encoder_file import EncoderFileError, require_chain_of_store
from deaps.sampling.window_pool import load_pool
from flows.config import Settings, load_settings, overridden
from flows.embed import embed_source
from flows.ingest.recording import preprocess_chunk
from flows.ingest.scan import Why, scan
from storage.snapshot import MixedChainsError, open_index, read_chains
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for, todo
from tests.wfdb_files import write_record


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two data sets: a folder with an EDF, and MIT-ARR with a record."""
    write_edf(tmp_path / "mine/a.edf", {"ECG": beats(30)})
    write_record(tmp_path / "mitdb", "100", {"MLII": beats(30, 360, seed=1)}, rhythms={0: "N"})
    rest(tmp_path)
    return settings_for(tmp_path / "store", folder=tmp_path / "mine", mitdb=tmp_path / "mitdb")


def rest(root: Path) -> None:
    """Make files so old that their times alone show a change."""
    for path in root.rglob("*.*"):
        os.utime(path, ns=(1_600_000_000 * 10**9,) * 2)


def without(settings: Settings, name: str, *overrides: str) -> Settings:
    """Return the settings with a data set that is not mounted."""
    return overridden(settings, [f"data.{name}=/not/mounted", *overrides])


def test_a_new_version_of_a_reader_redoes_its_recordings_and_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(settings)
    assert todo(settings) == {}
    monkeypatch.setitem(preprocessing.config.READER_VERSIONS, "wfdb", 99)
    assert todo(settings) == {"100": "redone: reader of WFDB changed"}
    monkeypatch.setitem(preprocessing.config.STEP_VERSIONS, "gate", 99)
    assert todo(settings) == {
        "100": "redone: reader of WFDB, gate changed", "a.edf": "redone: gate changed",
    }  # fmt: skip


def test_new_readers_of_stages_and_tables_read_them_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine/subjects.csv").write_text("file,subject\na.edf,P1\n")
    rest(tmp_path)
    run(settings)
    monkeypatch.setattr(flows.ingest.scan, "SCORING_VERSION", 99)
    assert set(todo(settings).values()) == {Why.SCORING}
    monkeypatch.undo()
    assert not any(dataset.tables_changed for dataset in scan(settings).datasets)
    monkeypatch.setattr(flows.ingest.scan, "TABLES_VERSION", 99)
    assert all(dataset.tables_changed for dataset in scan(settings).datasets)


def test_what_a_stopped_run_has_made_is_said_to_be_kept(settings: Settings) -> None:
    found = scan(settings)
    for job, recording in found.todo()[:1]:
        preprocess_chunk(job, [recording])  # and no publication
    assert sorted(todo(settings).values()) == ["new", "new; windows of a stopped run are kept"]
    other = overridden(settings, ["signal.highpass_hz=2"])
    assert set(todo(other).values()) == {"new"}  # those windows are of other settings
    run(settings)
    for job, recording in scan(other).todo()[:1]:
        preprocess_chunk(job, [recording])
    assert sorted(todo(other).values()) == [
        "settings changed", "settings changed; windows of a stopped run are kept",
    ]  # fmt: skip


def test_windows_of_two_settings_are_not_used_as_one(settings: Settings, tmp_path: Path) -> None:
    run(settings)
    mixed = without(settings, "folder", "signal.highpass_hz=5")
    run(mixed)
    index = tmp_path / "store/index.duckdb"
    with pytest.raises(MixedChainsError, match=r"recording of folder with signal.highpass_hz=0.5"):
        load_pool(index, mixed.sampling)
    allowed = overridden(mixed, ["sampling.mixed_chains=true"])
    load_pool(index, overridden(allowed, ["sampling.pairing=recording"]).sampling)
    with open_index(index) as connection:
        require_chain_of_store(None, connection, "dataset = 'folder'")
        with pytest.raises(EncoderFileError, match=r"signal.highpass_hz is 5.0, not 0.5"):
            require_chain_of_store(None, connection, "dataset = 'mitdb'")
    with pytest.raises(EncoderFileError, match="trained on other windows"):
        embed_source(mixed, "mitdb", None, tmp_path / "out.parquet")
    embed_source(mixed, "folder", None, tmp_path / "out.parquet")


def test_a_data_set_that_was_not_there_keeps_its_settings_in_the_index(settings: Settings) -> None:
    run(settings)
    run(without(settings, "folder", "signal.highpass_hz=5"))
    run(without(settings, "folder", "signal.highpass_hz=5", "quality.flat_s=1"))
    with open_index(settings.store.root) as connection:
        filters = {
            chain.datasets: chain.settings["signal"]["highpass_hz"]
            for chain in read_chains(connection)
        }
    assert filters == {("folder",): 0.5, ("mitdb",): 5.0}


def test_windows_of_two_versions_of_a_step_are_not_used_as_one(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(settings)
    monkeypatch.setitem(preprocessing.config.STEP_VERSIONS, "resample", 99)
    run(without(settings, "folder"))
    with pytest.raises(MixedChainsError, match="resample: 2 in folder; 99 in mitdb"):
        load_pool(tmp_path / "store/index.duckdb", load_settings().sampling)


def test_readers_of_two_formats_have_versions_of_their_own(
    settings: Settings, tmp_path: Path
) -> None:
    run(settings)
    pairing = load_settings(overrides=["sampling.pairing=recording"]).sampling
    load_pool(tmp_path / "store/index.duckdb", pairing)


def test_windows_that_lack_columns_are_set_aside_where_their_data_set_is_absent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(preprocessing.config.STEP_VERSIONS, "quality", 1)
        run(settings)
    run(without(settings, "mitdb"))
    asked = "SELECT name, status, reason FROM recordings ORDER BY name"
    assert ask(settings, asked) == [
        (
            "100",
            "quarantined",
            "made by an earlier version: configure data.mitdb, which was not found",
        ),
        ("a.edf", "ok", None),
    ]
    assert todo(settings) == {"100": "redone: quality changed"}
    run(settings)
    assert ask(settings, "SELECT count(*) FROM recordings WHERE status = 'ok'") == [(2,)]
