from __future__ import annotations

import pytest
import torch

from deaps.losses import tfc_terms
from tests.deaps.losses import reference

GENERATOR = torch.Generator().manual_seed(0)
TIME, FREQUENCY = torch.randn(2, 2, 4, 9, generator=GENERATOR)
BETWEEN = torch.randn(2, 4, 3, generator=GENERATOR)


def test_terms_are_nt_xent_of_their_views(device: torch.device) -> None:
    pairs = [(a.to(device), b.to(device)) for a, b in (TIME, FREQUENCY, BETWEEN)]
    terms = tfc_terms(*pairs, temperature=0.2)
    expected = [
        reference.nt_xent(a.tolist(), b.tolist(), 0.2) for a, b in (TIME, FREQUENCY, BETWEEN)
    ]
    assert [term.item() for term in terms] == pytest.approx(expected, rel=1e-5)


def test_total_weighs_the_terms_within() -> None:
    terms = tfc_terms(tuple(TIME), tuple(FREQUENCY), tuple(BETWEEN), temperature=0.2)
    expected = 0.2 * terms.time + 0.2 * terms.frequency + terms.between
    torch.testing.assert_close(terms.total(0.2), expected)
