from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from deaps.methods.tfc import Draws, augment_frequency, augment_time
from deaps.sampling.sampler import Views
from tests.deaps.sampling.made_batches import made_batch

BATCH = made_batch(Views.SINGLE, 20)
SPECTRA = torch.full((20, 1000), 2.0)


def test_jitter_has_its_standard_deviation() -> None:
    noise = augment_time(torch.zeros(20, 1000), Draws(BATCH), jitter=0.8)
    assert noise.std().item() == pytest.approx(0.8, abs=0.02)
    assert noise.mean().item() == pytest.approx(0, abs=0.02)


def test_a_tenth_of_bins_is_zeroed_in_one_copy() -> None:
    augmented = augment_frequency(SPECTRA, Draws(BATCH), bins_changed=0.1, raise_by=1e-9)
    zeroed = torch.isclose(augmented, torch.tensor(2.0))
    kept = torch.isclose(augmented, torch.tensor(4.0))
    assert (zeroed | kept).all()
    assert zeroed.float().mean().item() == pytest.approx(0.1, abs=0.01)


def test_a_tenth_of_bins_is_raised_in_the_other_by_up_to_a_tenth_of_the_maximum() -> None:
    spectra = SPECTRA.clone()
    spectra[:, 0] = 50
    augmented = augment_frequency(spectra, Draws(BATCH), bins_changed=0.1, raise_by=0.1)
    excess = (augmented - spectra)[:, 1:] % 2.0  # the other copy adds 0 or 2
    steps = (augmented - spectra)[:, 1:]
    assert (excess > 1e-4).float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert 6.5 < steps.max() < 2 + 0.1 * 50


def test_processes_draw_rows_of_one_whole() -> None:
    whole = Draws(BATCH)
    share = replace(BATCH, windows=BATCH.windows[:10], world=2)
    parts = [Draws(replace(share, rank=rank)) for rank in (0, 1)]
    for kind in ("normal", "uniform"):
        drawn = getattr(whole, kind)()
        for rank, part in enumerate(parts):
            assert torch.equal(getattr(part, kind)(), drawn[rank::2])


def test_seed_decides_the_draws() -> None:
    same, other = Draws(BATCH), Draws(replace(BATCH, seed=4))
    drawn = Draws(BATCH).normal()
    assert torch.equal(same.normal(), drawn)
    assert not torch.equal(other.normal(), drawn)
