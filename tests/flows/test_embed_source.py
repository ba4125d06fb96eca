"""``deaps embed``: what it takes, and what its file says without anything beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deaps import Encoder
from deaps.embedding_file import read_about
from deaps.training.checkpoints import save_encoder
from flows.config import load_settings
from flows.embed import Embedded, default_out, embed_source
from storage.errors import DeapsError
from storage.files import file_sha256
from tests.deaps.models.made_encoder import write_encoder
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for
from tests.storage.made_store import make_row, publish_rows, write_recording
from tests.wfdb_files import write_record


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encoder") / "mine.safetensors"
    write_encoder(path, Encoder())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an EDF, a WFDB record, a damaged file and a table."""
    data = tmp_path / "data"
    flat = beats(45)
    flat[2500:3750] = 0.5
    write_edf(data / "night.edf", {"ECG": flat})
    write_record(data, "r1", {"II": beats(30, 360)})
    (data / "bad.edf").write_bytes(b"nothing")
    (data / "subjects.csv").write_text("file,subject,visit,sex,age\nnight,anna,2,F,44\n")
    return data


def embed(source: Path | str, out: Path, encoder: Path, **options: bool) -> Embedded:
    return embed_source(load_settings(), str(source), encoder, out, **options)


@pytest.mark.parametrize("name", ["r1.hea", "r1.dat", "r1"])
def test_a_record_is_taken_by_any_of_its_names(folder: Path, encoder: Path, name: str) -> None:
    done = embed(folder / name, folder / "out.parquet", encoder)
    assert done.counts.n_windows == 3


def test_a_data_set_of_another_chain_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    row = write_recording(tmp_path / "store", make_row(dataset="shhs", versions="windows=2"))
    publish_rows(tmp_path / "store", [row])
    settings = load_settings(overrides=[f"store.root={tmp_path / 'store'}"])
    with pytest.raises(DeapsError, match="the signal chain's version is 2, not 1"):
        embed_source(settings, "shhs", None, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_embedding_says_on_which_leads_the_encoder_was_trained(folder: Path) -> None:
    messages: list[str] = []
    embed_source(
        load_settings(), str(folder / "r1"), None, folder / "o.parquet", notify=messages.append
    )
    assert "it was trained on these leads: afpdb: ECG0; cpsc2021: II" in messages


def test_a_folder_gives_one_file_and_skips_what_cannot_be_read(folder: Path, encoder: Path) -> None:
    done = embed(folder, folder / "out.parquet", encoder)
    table = pq.read_table(folder / "out.parquet").to_pydict()
    windows = list(zip(table["recording"], table["subject"], table["visit"], strict=True))
    assert windows == [("night.edf", "anna", 2)] * 3 + [("r1.hea", "r1", 1)] * 3
    assert len(done.skipped) == 1
    assert "bad.edf" in done.skipped[0]


def test_the_file_says_when_how_good_and_by_what(folder: Path, encoder: Path) -> None:
    done = embed(folder / "night.edf", folder / "out.parquet", encoder)
    table = pq.read_table(folder / "out.parquet")
    assert table["start_s"].to_pylist() == [0, 10, 30]
    assert set(table["quality"].to_pylist()) <= {"Excellent", "Barely acceptable", "Unacceptable"}
    assert set(table["encoder_sha256"].to_pylist()) == {file_sha256(encoder)}
    about = read_about(folder / "out.parquet")
    assert about["settings"]["signal"]["highpass_hz"] == 0.5
    assert (about["source"], about["encoder_sha256"]) == ("night.edf", file_sha256(encoder))
    assert (about["n_left_out"], about["left_out"]["flat"]) == (1, 1)
    assert str(done.counts) == "3 windows; left out 1 (1 flat)"


@pytest.mark.parametrize("synthetic", [True, False, None])
def test_the_file_says_whether_its_encoder_was_trained_on_synthetic_data(
    folder: Path, *, synthetic: bool | None
) -> None:
    encoder = write_encoder(folder / "e.safetensors", Encoder(), synthetic=synthetic)
    messages: list[str] = []
    out = folder / "out.parquet"
    embed_source(load_settings(), str(folder / "night.edf"), encoder, out, notify=messages.append)
    assert read_about(out)["trained"]["synthetic"] is synthetic
    assert any("trained on synthetic data" in text for text in messages) is bool(synthetic)


def test_an_encoder_without_a_contract_does_not_say_whether_its_data_were_synthetic(
    folder: Path,
) -> None:
    path = folder / "e.safetensors"
    save_encoder(path, Encoder(), {"architecture": "encoder", "settings": "{}"})
    with pytest.warns(UserWarning, match="has no contract"):
        embed(folder / "night.edf", folder / "out.parquet", path)
    assert read_about(folder / "out.parquet")["trained"]["synthetic"] is None


def test_rejected_windows_are_kept_with_their_flags_if_asked(folder: Path, encoder: Path) -> None:
    embed(folder / "night.edf", folder / "out.parquet", encoder, keep_rejected=True)
    table = pq.read_table(folder / "out.parquet")
    assert table["flat"].to_pylist() == [False, False, True, False]


def test_a_data_set_of_the_store_has_the_same_columns(folder: Path, encoder: Path) -> None:
    settings = settings_for(folder.parent / "store", folder=folder)
    run(settings)
    embed_source(settings, "folder", encoder, folder / "store.parquet")
    embed_source(settings, str(folder), encoder, folder / "files.parquet")
    store, files = (pq.read_table(folder / f"{name}.parquet") for name in ("store", "files"))
    assert store.column_names == files.column_names
    same = ["recording", "subject", "visit", "row", "start_s", "quality", "flat", "encoder"]
    assert store.select(same).to_pydict() == files.select(same).to_pydict()
    found = [np.stack(table["embedding"].to_numpy()) for table in (store, files)]
    np.testing.assert_allclose(*found, atol=2e-3)  # windows are stored as float16


@pytest.mark.parametrize("kind", ["text", "parquet", "folder"])
def test_what_is_not_ours_is_never_overwritten(folder: Path, encoder: Path, kind: str) -> None:
    out = folder / "out.parquet"
    match kind:
        case "text":
            out.write_text("my notes")
        case "parquet":
            pq.write_table(pa.table({"mine": [1]}), out)
        case "folder":
            out.mkdir()
    before = out.read_bytes() if out.is_file() else None
    with pytest.raises(DeapsError, match="--out"):
        embed(folder / "night.edf", out, encoder)
    assert (out.read_bytes() if out.is_file() else None) == before


def test_our_own_file_is_written_again(folder: Path, encoder: Path) -> None:
    for _ in range(2):
        embed(folder / "night.edf", folder / "out.parquet", encoder)


def test_plot_draws_the_recording_beside_the_file(folder: Path, encoder: Path) -> None:
    done = embed(folder / "night.edf", folder / "out" / "x.parquet", encoder, plot=True)
    assert [path.name for path in done.pictures] == ["night.png", "night.svg"]
    assert "heart rate" in (folder / "out/night.svg").read_text()


def test_each_source_has_a_file_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert default_out("night.edf") == Path("night.embeddings.parquet")
    assert default_out("r1") == Path("r1.embeddings.parquet")
    assert default_out(".") == Path("data.embeddings.parquet")
    assert default_out("mitdb") == Path("mitdb.embeddings.parquet")
