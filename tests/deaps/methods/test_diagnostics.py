"""What is measured beside DEAPS's losses."""

from __future__ import annotations

import numpy as np
import torch

from deaps.losses import Triplet, gradual_loss
from deaps.methods.deaps import gradual_probes, projection_spread

GENERATOR = torch.Generator().manual_seed(0)
BEFORE_S, AFTER_S = torch.full((6,), 20.0), torch.full((6,), 100.0)


def line() -> Triplet:
    """Middles that lie on the line between their ends, a sixth of the way."""
    before, after = torch.randn(2, 6, 32, generator=GENERATOR)
    return Triplet(before, before + (after - before) / 6, after)


def test_each_spoiled_triplet_costs_more_than_a_true_one() -> None:
    made = line()
    loss = gradual_loss(made, made, BEFORE_S, AFTER_S)
    probes = gradual_probes(made, made, BEFORE_S, AFTER_S, mask=None)
    assert float(loss) < 1e-6
    assert float(probes["gradual_swapped"]) > 0.3
    assert 0.005 < float(probes["gradual_first"]) < float(probes["gradual_swapped"])
    assert float(probes["gradual_other_subject"]) > 0.7


def test_the_mask_holds_for_spoiled_triplets_too() -> None:
    made, mask = line(), torch.zeros(6, 32, dtype=torch.bool)
    mask[:, :5] = True
    beyond = Triplet(*(part.clone() for part in made))
    for part in beyond:
        part[:, 5:] = 99.0
    ours, theirs = (gradual_probes(t, t, BEFORE_S, AFTER_S, mask=mask) for t in (made, beyond))
    for name, value in ours.items():
        torch.testing.assert_close(theirs[name], value)


def test_spread_is_that_of_numpy() -> None:
    projections = torch.randn(40, 8, generator=GENERATOR) @ torch.randn(8, 8, generator=GENERATOR)
    variance, correlation = projection_spread(projections)
    matrix = np.corrcoef(projections.numpy().T)
    off = matrix[~np.eye(8, dtype=bool)]
    assert np.isclose(float(variance), projections.numpy().var(axis=0, ddof=1).mean(), rtol=1e-5)
    assert np.isclose(float(correlation), np.sqrt((off**2).mean()), rtol=1e-4)


def test_shrinking_changes_the_variance_alone() -> None:
    projections = torch.randn(40, 8, generator=GENERATOR)
    large, small = projection_spread(projections), projection_spread(projections / 2)
    torch.testing.assert_close(small[0], large[0] / 4)
    torch.testing.assert_close(small[1], large[1])
