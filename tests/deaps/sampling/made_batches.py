"""Small batches of made windows."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.sampling.sampler import Batch, Views

PER_SAMPLE = {
    Views.SINGLE: 1,
    Views.PAIR: 2,
    Views.ADJACENT: 2,
    Views.PARTNER: 2,
    Views.QUADRUPLE: 4,
}


def made_windows(subjects: Tensor, views: int) -> Tensor:
    """Return (n, views, 1000): each subject a sine of its own rate, each window a phase, noise."""
    generator = torch.Generator().manual_seed(7)
    seconds = torch.arange(1000) / 100
    rates = (1 + 0.3 * subjects).reshape(-1, 1, 1)
    phases = 6.28 * torch.rand(len(subjects), views, 1, generator=generator)
    noise = 0.3 * torch.randn(len(subjects), views, 1000, generator=generator)
    return torch.sin(6.28 * rates * seconds + phases) + noise


def made_batch(
    views: Views, samples: int = 8, *, seed: int = 3, device: torch.device | str = "cpu"
) -> Batch:
    """Return a batch whose first and last sample are of one subject."""
    subjects = torch.arange(samples)
    subjects[-1] = subjects[0]
    before_s = 10.0 * (1 + torch.arange(samples) % 11)
    return Batch(
        windows=made_windows(subjects, PER_SAMPLE[views]).to(device),
        before_s=before_s.to(device),
        after_s=(120 - before_s).to(device),
        subjects=subjects.to(device),
        seed=seed,
    )
