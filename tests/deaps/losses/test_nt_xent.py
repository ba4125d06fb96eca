from __future__ import annotations

import math

import pytest
import torch

from deaps.losses import nt_xent
from tests.deaps.losses import reference

VIEW1, VIEW2 = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(0))
SUBJECTS = [0, 1, 2, 1, 3, 1]


@pytest.mark.parametrize("temperature", [0.1, 0.5])
@pytest.mark.parametrize("subjects", [None, SUBJECTS])
def test_nt_xent_is_the_formula(
    temperature: float, subjects: list[int] | None, device: torch.device
) -> None:
    loss = nt_xent(
        VIEW1.to(device),
        VIEW2.to(device),
        temperature=temperature,
        subjects=None if subjects is None else torch.tensor(subjects, device=device),
    )
    expected = reference.nt_xent(VIEW1.tolist(), VIEW2.tolist(), temperature, subjects)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_two_orthogonal_samples_by_hand() -> None:
    # Each row: its other view at cosine 1, two negatives at cosine 0.
    rows = torch.eye(2)
    expected = -math.log(math.exp(2) / (math.exp(2) + 2))
    assert nt_xent(rows, rows, temperature=0.5).item() == pytest.approx(expected)


def test_one_subject_alone_has_no_negatives() -> None:
    subjects = torch.zeros(6, dtype=torch.int64)
    assert nt_xent(VIEW1, VIEW2, temperature=0.1, subjects=subjects).item() == 0


def test_other_windows_of_the_subject_get_no_gradient_as_negatives() -> None:
    view1, view2 = (view[:2].clone().requires_grad_() for view in (VIEW1, VIEW2))
    nt_xent(view1, view2, temperature=0.1, subjects=torch.tensor([4, 4])).backward()
    assert view1.grad is not None
    assert (view1.grad == 0).all()
