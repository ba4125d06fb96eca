"""Measures of collapse on matrices whose answer is known."""

from __future__ import annotations

import pytest
import torch

from deaps.training.collapse import effective_rank, representation_std


def test_equal_rows_have_no_spread_and_no_rank() -> None:
    rows = torch.ones(20, 1) @ torch.randn(1, 8)
    assert representation_std(rows) == pytest.approx(0, abs=1e-6)
    assert effective_rank(rows) == pytest.approx(0, abs=1e-2)


def test_rows_on_a_line_have_rank_one() -> None:
    rows = torch.randn(50, 1) @ torch.randn(1, 8) + 3
    assert effective_rank(rows) == pytest.approx(1, abs=1e-3)


def test_even_spread_has_full_rank() -> None:
    rows = torch.cat([torch.eye(8), -torch.eye(8)])
    assert effective_rank(rows) == pytest.approx(8, abs=1e-4)


def test_spread_of_noise_is_one_over_root_of_features() -> None:
    rows = torch.randn(4000, 64, generator=torch.Generator().manual_seed(0))
    assert representation_std(rows) == pytest.approx(64**-0.5, rel=0.02)


def test_neither_depends_on_scale() -> None:
    rows = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    assert representation_std(7 * rows) == pytest.approx(representation_std(rows))
    assert effective_rank(7 * rows) == pytest.approx(effective_rank(rows), rel=1e-4)
