"""Features of networks: the random encoder of a seed, and the shipped one as it is."""

from __future__ import annotations

import numpy as np
import torch

from deaps.baselines import rr_features
from deaps.config import EncoderSettings
from deaps.evaluation.features import FeatureSource
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import load_encoder
from tests.edf_files import beats

WINDOWS = np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)
FINAL = EncoderSettings(norm="final")


def test_random_features_are_those_of_an_untrained_encoder_of_that_seed() -> None:
    torch.manual_seed(7)
    expected = Encoder().eval()(torch.from_numpy(WINDOWS)).detach().numpy()
    np.testing.assert_array_equal(
        FeatureSource("random", "recording", seed=7).features(WINDOWS), expected
    )


def test_the_random_encoder_has_the_norm_that_is_set() -> None:
    torch.manual_seed(7)
    expected = Encoder(FINAL).eval()(torch.from_numpy(WINDOWS)).detach().numpy()
    source = FeatureSource("random", "recording", seed=7, settings=FINAL)
    np.testing.assert_array_equal(source.features(WINDOWS), expected)


def test_the_rr_baseline_has_the_numbers_of_the_rr_series() -> None:
    windows = np.stack([beats(10, 100, rate) for rate in (60, 90)]).astype(np.float32)
    found = FeatureSource("rr", "recording").features(windows)
    assert found.shape == (2, 6)
    np.testing.assert_array_equal(found, rr_features(windows))
    assert not np.array_equal(found[0], found[1])


def test_the_global_generator_is_left_as_it_was() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    FeatureSource("random", "recording").features(WINDOWS)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_norm_is_part_of_the_digest_and_the_chunk_is_not() -> None:
    plain, final, chunked = (
        FeatureSource("random", "recording", settings=settings).digest()
        for settings in (EncoderSettings(), FINAL, EncoderSettings(chunk=8))
    )
    assert plain == chunked != final


def test_the_digest_with_the_defaults_is_that_of_earlier_versions() -> None:
    """Features that are on disk are found again."""
    digest = FeatureSource("random", "recording").digest()
    assert digest == "b3f005fb5dd4855e78d03adba2b33b20cfdd393f4b9b9e0060887fc012954a54"


def test_shipped_features_are_those_of_the_encoder_in_the_package() -> None:
    source = FeatureSource.of_shipped()
    expected = load_encoder()(torch.from_numpy(WINDOWS)).numpy()
    np.testing.assert_allclose(source.features(WINDOWS), expected, atol=1e-6)
    assert source.is_network
