"""The paired permutation test over subjects, and Holm's correction for several of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deaps.probing.statistics.tally import Floats, Tally

EXACT_UP_TO = 20
"""Subjects up to which every pattern of swaps is tried: half a million of them."""

_ROWS = 1 << 15
"""Patterns tried at once."""

_TIE = 1e-12
"""Differences closer than this are equal: sums in another order differ by rounding."""


class PermutationTest(NamedTuple):
    """Outcome of a permutation test."""

    p: float
    """Two-sided."""
    exact: bool
    """Whether every pattern was tried; otherwise patterns were drawn."""


def sign_flip_test(
    mine: Sequence[Tally],
    theirs: Sequence[Tally],
    *,
    flips: int = 9_999,
    exact_up_to: int = EXACT_UP_TO,
    seed: int = 0,
) -> PermutationTest:
    """Return the p value of two methods' difference, each given by its runs (one a seed).

    If the methods were alike, the answers to a subject could as well have come from the other
    one. So the answers to each subject are swapped or not, in all runs together, and the p
    value is the share of the 2**n patterns whose mean difference over the runs is at least as
    large as the one seen (Fisher, 1935; Nichols and Holmes, 2002). For a metric that is a mean
    over subjects, a swap flips the sign of the subject's difference. Up to ``exact_up_to``
    subjects all patterns are tried; beyond, ``flips`` are drawn and p = (1 + hits) / (1 + flips)
    (Phipson and Smyth, 2010). It speaks of people alone: the luck of the seeds is not in it.

    Runs are taken in pairs, in their order; where one method has 5 and the other 3, the 15 pairs
    in which each run of a method comes equally often.
    """
    pairs = [
        (mine[k % len(mine)], theirs[k % len(theirs)]) for k in range(lcm(len(mine), len(theirs)))
    ]
    n = mine[0].n_subjects
    seen = abs(float(_differences(pairs, np.ones((1, n)))[0]))
    exact = n <= exact_up_to
    patterns = all_patterns(n) if exact else drawn_patterns(n, flips, seed)
    hits = sum(int((np.abs(_differences(pairs, s)) >= seen - _TIE).sum()) for s in patterns)
    return PermutationTest(hits / 2 ** (n - 1) if exact else (1 + hits) / (1 + flips), exact)


def smallest_p(n_subjects: int, n_rivals: int = 1) -> float:
    """Return the smallest p value after Holm that so many subjects can give: m 2 / 2**n, at most 1.

    A pattern and its opposite are equally extreme, so no two-sided p is below 2 / 2**n. Seven
    subjects give 0.016, after Holm over five rivals 0.078: nothing can be significant.
    """
    return min(1.0, n_rivals * 2.0 ** (1 - n_subjects))


def holm(p_values: ArrayLike) -> Floats:
    """Return the p values adjusted for their number, (m,), by Holm's step-down rule.

    Holm, 1979: in ascending order, p~(i) = max over j <= i of min(1, (m - j + 1) p(j)). The
    chance of any false alarm is at most 5 % if those below 0.05 are believed.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def all_patterns(n: int) -> Iterator[Floats]:
    """Yield every pattern of n signs, of opposite ones only that which begins with +1."""
    total = 1 << (n - 1)
    for first in range(0, total, _ROWS):
        numbers = np.arange(first, min(first + _ROWS, total))
        bits = (numbers[:, np.newaxis] >> np.arange(n)) & 1  # the last is always 0
        yield _signs(bits[:, ::-1])


def drawn_patterns(n: int, flips: int, seed: int) -> Iterator[Floats]:
    """Yield so many patterns of n signs, drawn evenly; the same for the same seed."""
    rng = np.random.Generator(np.random.Philox(key=[seed, n]))
    for first in range(0, flips, _ROWS):
        size = (min(_ROWS, flips - first), -(-n // 8))
        bits = np.unpackbits(rng.integers(0, 256, size, np.uint8), axis=1, count=n)
        yield _signs(bits)


def _signs(bits: NDArray[np.integer]) -> Floats:
    return 1.0 - 2.0 * bits.astype(np.float64)


def _differences(pairs: Sequence[tuple[Tally, Tally]], signs: Floats) -> NDArray[np.float64]:
    return np.asarray(np.mean([a.swapped(b, signs) for a, b in pairs], axis=0))
