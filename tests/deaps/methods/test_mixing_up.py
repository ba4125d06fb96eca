from __future__ import annotations

import numpy as np
import pytest
import torch

from deaps.config import ModelSettings
from deaps.losses import mixing_up_loss
from deaps.methods.contrastive import MixingUp, mixing_share
from deaps.sampling.sampler import Views
from tests.deaps.sampling.made_batches import made_batch


def test_shares_are_beta_distributed() -> None:
    shares = np.array([mixing_share(0.2, seed) for seed in range(2000)])
    # The variance of Beta(a, a) is 1 / (4 (2 a + 1)).
    assert shares.mean() == pytest.approx(0.5, abs=0.04)
    assert shares.var() == pytest.approx(1 / (4 * 1.4), abs=0.01)


def test_share_follows_the_seed() -> None:
    assert mixing_share(0.2, 4) == mixing_share(0.2, 4) != mixing_share(0.2, 5)


def test_loss_is_that_of_the_mixture() -> None:
    torch.manual_seed(0)
    method, batch = MixingUp(ModelSettings()), made_batch(Views.PARTNER)
    first, second = batch.windows.unbind(1)
    share = mixing_share(0.2, batch.seed)
    projected = [
        method.projector(method.encoder(windows))
        for windows in (share * first + (1 - share) * second, first, second)
    ]
    expected = mixing_up_loss(*projected, share=share, temperature=0.5)
    terms = method(batch)
    torch.testing.assert_close(terms["loss"], expected, atol=1e-6, rtol=1e-5)
    assert terms["share"].item() == pytest.approx(share)
