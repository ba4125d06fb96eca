"""An encoder's file says what it expects, and nobody uses it otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

import deaps
from deaps.models.contract import (
    CHAIN,
    CONTRACT_KEY,
    VECTOR_KEY,
    Contract,
    largest_difference,
    make_vector,
    reference_window,
    unpack_vector,
    vector_error,
)
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import (
    SHIPPED,
    EncoderFileError,
    contract_of,
    encoder_bytes,
    load_encoder,
    normalisation_of,
    read_about,
    read_contract,
    require_chain,
    require_chain_of_store,
)
from deaps.models.export import export_onnx, write_hub_folder
from deaps.training.trained_on import TrainedOn
from flows.cli import app
from flows.config import load_settings
from flows.ingest.publication import result_settings
from preprocessing.config import WINDOWS_VERSION
from storage.errors import DeapsError
from storage.schema import Status
from storage.snapshot import Chain, open_index
from tests.deaps.models.made_encoder import put_into_hub_cache
from tests.deaps.training.training_store import make_run
from tests.edf_files import beats, write_edf
from tests.storage.made_store import make_row, publish_rows, write_recording

FILE = SHIPPED / "model.safetensors"


def changed(folder: Path, **metadata: str | None) -> Path:
    """Return a copy of the shipped encoder with other metadata; None removes a key."""
    about = read_about(FILE)
    about.pop("sha256")
    about = {k: v for k, v in (about | metadata).items() if v is not None}
    path = folder / "encoder.safetensors"
    path.write_bytes(encoder_bytes(load_file(FILE), about))
    return path


def with_terms(
    folder: Path, *, about: Mapping[str, str | None] = MappingProxyType({}), **terms: object
) -> Path:
    """Return a copy of the shipped encoder with other terms in its contract."""
    contract = json.loads(read_about(FILE)[CONTRACT_KEY]) | terms
    return changed(folder, **{CONTRACT_KEY: json.dumps(contract), **about})


def test_the_test_vector_holds_the_window_and_the_answer() -> None:
    torch.manual_seed(0)
    encoder = Encoder().train()
    given, expected = unpack_vector(make_vector(encoder))
    assert np.array_equal(given, reference_window())
    assert np.isfinite(given).all()
    with torch.inference_mode():
        assert np.array_equal(encoder.eval()(torch.from_numpy(given)).numpy(), expected)


def test_making_the_vector_leaves_the_encoder_and_the_random_numbers_alone() -> None:
    encoder = Encoder().train()
    before = torch.get_rng_state()
    make_vector(encoder)
    assert encoder.training
    assert torch.equal(torch.get_rng_state(), before)


def test_other_weights_miss_the_vector() -> None:
    torch.manual_seed(0)
    vector = make_vector(Encoder())
    torch.manual_seed(1)
    assert vector_error(Encoder(), vector) > 1e-3


def test_an_encoder_that_misses_its_vector_is_refused(tmp_path: Path) -> None:
    vector = make_vector(Encoder())
    with pytest.raises(EncoderFileError, match="does not reproduce its test vector: it differs by"):
        load_encoder(changed(tmp_path, **{VECTOR_KEY: vector}))


def test_a_file_without_a_contract_is_read_as_version_1_with_a_warning(tmp_path: Path) -> None:
    path = changed(tmp_path, **{CONTRACT_KEY: None, VECTOR_KEY: None})
    with pytest.warns(UserWarning, match="has no contract and is read as version 1"):
        encoder = load_encoder(path)
    window = torch.from_numpy(reference_window())
    assert torch.equal(encoder(window), load_encoder()(window))
    assert read_contract(path) is None
    # Nothing is known, so nothing contradicts.
    require_chain(path, Chain(result_settings(load_settings()), WINDOWS_VERSION))
    assert normalisation_of(path) == "recording"


def test_a_contract_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderFileError, match=r"its contract cannot be read \(fs: .* integer"):
        read_contract(with_terms(tmp_path, fs="fast"))


def test_a_contract_that_is_no_contract_is_named(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"fs": 100}'):
        with pytest.raises(EncoderFileError, match="its contract cannot be read"):
            load_encoder(changed(tmp_path, **{CONTRACT_KEY: text}))


def test_a_contract_with_more_keys_is_read(tmp_path: Path) -> None:
    contract = read_contract(with_terms(tmp_path, colour="red"))
    assert contract == read_contract()


def test_a_contract_of_another_version_is_refused_whatever_is_in_it(tmp_path: Path) -> None:
    words = "has a contract of version 99; this program reads version 2. Install a version of deaps"
    for terms in ({}, {"fs": {"lead I": 500}}):
        path = with_terms(tmp_path, version=99, **terms)
        for read in (load_encoder, read_contract, normalisation_of):
            with pytest.raises(EncoderFileError, match=words):
                read(path)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"fs": 250}, "windows have 1000 samples at 100 Hz, not 1000 at 250 Hz"),
        ({"window_samples": 2500}, "windows have 1000 samples at 100 Hz, not 2500 at 100 Hz"),
        ({"chain": "resampled by wishing"}, "the signal chain is 'gaps .*, not 'resampled by wish"),
        ({"normalise": "patient"}, "normalise: Input should be 'recording', 'dataset' or 'window'"),
        ({"normalise": "window"}, "normalise is 'recording', but 'window' in its contract"),
        ({"trained_on": "abc"}, "trained_on is '28c7e.*', but 'abc' in its contract"),
    ],
)
def test_terms_that_this_program_does_not_keep_are_refused(
    tmp_path: Path, terms: dict[str, object], words: str
) -> None:
    path = with_terms(tmp_path, **terms)
    with pytest.raises(EncoderFileError, match=words):
        load_encoder(path)
    with pytest.raises(EncoderFileError, match=words):
        require_chain(path, Chain(result_settings(load_settings()), WINDOWS_VERSION))


def test_the_contract_says_how_windows_are_normalised(tmp_path: Path) -> None:
    path = with_terms(tmp_path, about={"normalise": None}, normalise="window")
    assert normalisation_of(path) == "window"


def test_an_unknown_normalisation_of_a_file_without_a_contract_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, **{CONTRACT_KEY: None, "normalise": "patient"})
    with pytest.raises(EncoderFileError, match="possible: recording, dataset, window"):
        normalisation_of(path)


def test_a_contract_without_a_test_vector_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderFileError, match="has a contract but no test vector"):
        load_encoder(changed(tmp_path, **{VECTOR_KEY: None}))


@pytest.mark.parametrize("vector", ["", "AAAA", "!!! !!!", "AAAAAA== AAAAAA=="])
def test_a_test_vector_that_is_none_is_named(tmp_path: Path, vector: str) -> None:
    with pytest.raises(EncoderFileError, match="its test vector cannot be read"):
        load_encoder(changed(tmp_path, **{VECTOR_KEY: vector}))


def test_a_test_vector_of_fewer_numbers_is_named(tmp_path: Path) -> None:
    given, _ = read_about(FILE)[VECTOR_KEY].split()
    with pytest.raises(EncoderFileError, match="the test vector has 1 numbers, not 128"):
        load_encoder(changed(tmp_path, **{VECTOR_KEY: f"{given} AAAAAA=="}))


def test_windows_of_another_version_of_the_chain_contradict(tmp_path: Path) -> None:
    settings = result_settings(load_settings())
    require_chain(None, Chain(settings, 1))
    with pytest.raises(EncoderFileError, match="the signal chain's version is 2, not 1"):
        require_chain(None, Chain(settings, 2))
    require_chain(with_terms(tmp_path, algorithms=[1, 2]), Chain(settings, 2))


def test_windows_of_a_store_are_compared_by_data_set(tmp_path: Path) -> None:
    rows = [
        write_recording(tmp_path, make_row(dataset=dataset, versions=versions))
        for dataset, versions in (("old", None), ("new", "reader.edf=1 windows=2 gate=2"))
    ]
    publish_rows(tmp_path, rows)
    with open_index(tmp_path) as index:
        require_chain_of_store(None, index, "dataset = 'old'")
        for condition in ("dataset = 'new'", "true"):
            with pytest.raises(EncoderFileError, match="the signal chain's version is 2, not 1"):
                require_chain_of_store(None, index, condition)


def test_the_words_for_the_chain_are_those_of_its_version() -> None:
    """Whoever raises WINDOWS_VERSION says in CHAIN what changed, if windows did."""
    assert WINDOWS_VERSION == 1
    assert "resample_poly; Butterworth high-pass forward and backward" in CHAIN


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("signal.highpass_hz=1.0", "signal.highpass_hz is 1.0, not 0.5"),
        ("signal.highpass_order=3", "signal.highpass_order is 3, not 5"),
        ("signal.fix_polarity=true", "signal.fix_polarity is True, not False"),
    ],
)
def test_embedding_with_another_chain_is_refused(tmp_path: Path, override: str, words: str) -> None:
    write_edf(tmp_path / "night.edf", {"ECG": beats(30)})
    out = tmp_path / "out.parquet"
    command = ["embed", str(tmp_path / "night.edf"), "--out", str(out), "--set", override]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
    assert not out.exists()


def test_windows_of_another_length_or_rate_contradict() -> None:
    contract = read_contract()
    assert contract is not None
    other = contract.model_copy(update={"fs": 250})
    settings = result_settings(load_settings())
    assert contract.contradictions(Chain(settings, 1)) == []
    assert other.contradictions(Chain(settings, 1)) == [
        "windows have 1000 samples at 100 Hz, not 1000 at 250 Hz"
    ]


def test_other_leads_do_not_contradict() -> None:
    contract = read_contract()
    assert contract is not None
    settings = result_settings(load_settings(overrides=['signal.channels=["MY LEAD"]']))
    assert contract.contradictions(Chain(settings, 1)) == []


def test_a_contract_has_the_leads_of_just_the_recordings_that_were_trained_on(
    tmp_path: Path,
) -> None:
    leads = {"afpdb/n01": "ECG0", "cpsc2021/1a": "II", "cpsc2021/1b": "I", "cpsc2021/2": "V1"}
    rows = [
        make_row(name, dataset, channel=channel, subject=name[:1], versions="windows=2")
        for (dataset, name), channel in ((key.split("/"), lead) for key, lead in leads.items())
    ]
    rows.append(make_row("1c", "cpsc2021", subject="1", channel="V5"))  # no window is usable
    rows.append(replace(rows[1], name="1d", status=Status.QUARANTINED, channel="V2"))
    publish_rows(tmp_path, [write_recording(tmp_path, row) for row in rows])
    seen = rows[:3]
    trained_on = TrainedOn(
        frozenset(f"{row.dataset}/{row.subject}" for row in seen),
        frozenset(str(row.digest) for row in seen),
    )
    contract = contract_of(make_run(tmp_path), trained_on)
    assert contract.channels == {"afpdb": ("ECG0",), "cpsc2021": ("I", "II")}
    assert contract.algorithms == (2,)


def test_the_shipped_encoder_says_which_leads_it_was_trained_on() -> None:
    contract = read_contract()
    assert contract is not None
    assert contract.channels == {"afpdb": ("ECG0",), "cpsc2021": ("II",)}


def test_the_card_of_a_hub_folder_names_the_leads(tmp_path: Path) -> None:
    path = with_terms(tmp_path, channels={"afpdb": ["ECG0"], "cpsc2021": ["I", "II"]})
    card = (write_hub_folder(path, tmp_path / "mine") / "README.md").read_text()
    assert "| leads | afpdb: ECG0; cpsc2021: I, II |" in card
    path = with_terms(tmp_path, channels=None)
    card = (write_hub_folder(path, tmp_path / "other") / "README.md").read_text()
    assert "| leads | not recorded |" in card


def test_torch_and_onnx_reproduce_the_vector_within_a_hundred_thousandth(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    export_onnx(None, tmp_path / "encoder.onnx")
    given, expected = unpack_vector(read_about(FILE)[VECTOR_KEY])
    session = onnxruntime.InferenceSession(tmp_path / "encoder.onnx")
    (answer,) = session.run(None, {"windows": given})
    np.testing.assert_allclose(answer, expected, atol=1e-5 * np.abs(expected).max(), rtol=0)
    assert vector_error(load_encoder(), read_about(FILE)[VECTOR_KEY]) <= 1e-5


def test_a_miss_is_a_share_of_the_largest_number() -> None:
    """Float32 has seven digits: numbers ten times as large differ ten times as much."""
    expected = np.array([[1.0, -20.0, 3.0]], np.float32)
    actual = expected + np.array([[0.0, 0.0, 0.002]], np.float32)
    assert largest_difference(actual, expected) == pytest.approx(1e-4, rel=1e-3)
    assert largest_difference(10 * actual, 10 * expected) == pytest.approx(1e-4, rel=1e-3)


def test_a_hub_folder_is_written_and_loaded(tmp_path: Path) -> None:
    folder = write_hub_folder(None, tmp_path / "mine")
    assert sorted(p.name for p in folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    window = torch.from_numpy(reference_window())
    assert torch.equal(deaps.load_encoder(folder)(window), load_encoder()(window))
    config = json.loads((folder / "config.json").read_text())
    assert Contract.model_validate(config["contract"]) == read_contract()
    (folder / "README.md").write_text("my own card")
    write_hub_folder(None, folder)
    assert (folder / "README.md").read_text() == "my own card"


def test_an_encoder_without_a_contract_gets_no_hub_folder(tmp_path: Path) -> None:
    path = changed(tmp_path, **{CONTRACT_KEY: None})
    with pytest.raises(DeapsError, match="has no contract"):
        write_hub_folder(path, tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def test_an_encoder_of_a_hub_is_found_in_its_cache_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into_hub_cache(tmp_path, monkeypatch)
    window = torch.from_numpy(reference_window())
    assert torch.equal(deaps.load_encoder("hf://lab/ecg")(window), load_encoder()(window))
    assert torch.equal(deaps.load_encoder("hf://lab/ecg@main")(window), load_encoder()(window))
    with pytest.raises(DeapsError, match=r"lab/other: the hub did not give model\.safetensors"):
        deaps.load_encoder("hf://lab/other")


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(DeapsError, match="expected hf://owner/name"):
        deaps.load_encoder("hf://../../etc/passwd")


def test_the_hubs_client_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from storage import packages

    monkeypatch.setattr(packages, "has_package", lambda name: name != "huggingface_hub")
    monkeypatch.setitem(sys.modules, "huggingface_hub", ModuleType("huggingface_hub"))
    with pytest.raises(DeapsError, match=r"pip install 'deaps\[hub\]'"):
        deaps.load_encoder("hf://lab/ecg")
