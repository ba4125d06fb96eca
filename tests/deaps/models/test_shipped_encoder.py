"""The encoder that comes with the package: there, described, usable and not collapsed."""

from __future__ import annotations

import json

import numpy as np

import deaps
from deaps.embed import embed_windows
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import SHIPPED, read_about
from deaps.models.export import hub_config
from storage.files import file_sha256
from tests.edf_files import beats

FILE, CARD = SHIPPED / "model.safetensors", SHIPPED / "README.md"


def hearts(rates: tuple[int, ...], each: int) -> np.ndarray:
    """Return windows of several heart rates, (len(rates) * each, 1000), standardised."""
    windows = np.stack(
        [beats(10, 100, rate, seed=k) for rate in rates for k in range(each)]
    ).astype(np.float32)
    return (windows - windows.mean(axis=1, keepdims=True)) / windows.std(axis=1, keepdims=True)


def test_it_is_small_and_says_what_it_is() -> None:
    assert FILE.stat().st_size < 6_000_000
    about = read_about(FILE)
    assert (about["method"], about["normalise"]) == ("deaps", "recording")
    assert int(about["step"]) > 0


def test_the_card_is_that_of_this_file() -> None:
    card = CARD.read_text()
    about = read_about(FILE)
    assert file_sha256(FILE) in card
    assert about["run"] in card
    assert f"{about['step']} iterations" in card
    assert "ODC-By" in card


def test_its_folder_is_laid_out_for_a_model_hub() -> None:
    config = json.loads((SHIPPED / "config.json").read_text())
    assert config == hub_config(read_about(FILE))
    assert config["contract"]["synthetic"] is False
    front = CARD.read_text().split("---")[1]
    assert {"license: odc-by", "library_name: deaps"} <= set(front.split("\n"))


def test_it_is_loaded_by_default_and_frozen() -> None:
    encoder = deaps.load_encoder()
    assert isinstance(encoder, Encoder)
    assert not encoder.training
    assert not any(parameter.requires_grad for parameter in encoder.parameters())


def test_it_tells_heart_rates_apart() -> None:
    rates, each = (60, 120), 6
    found = embed_windows(deaps.load_encoder(), hearts(rates, each))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    similar = found @ found.T
    np.fill_diagonal(similar, -1)
    rate = np.repeat(rates, each)
    assert (rate[similar.argmax(axis=1)] == rate).all()


def test_weights_and_code_fit_each_other() -> None:
    """The code may change, but not what it makes of these weights."""
    found = embed_windows(deaps.load_encoder(), hearts((60,), 1))[0, :4]
    np.testing.assert_allclose(found, [-0.0630, 9.1704, 0.2502, 3.3285], atol=1e-3)
