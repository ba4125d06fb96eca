"""Random generators that depend on names, not on the order in which records are made."""

from __future__ import annotations

import hashlib

import numpy as np

GOLDEN = 0.6180339887498949


def rng_for(seed: int, *names: str) -> np.random.Generator:
    """Return the generator of one named thing, e.g. ``rng_for(1, "shhs", "200001", "visit2")``.

    A record's randomness depends on the seed and its names alone, so a cohort can grow without
    changing the records it already has.
    """
    digest = hashlib.sha256("/".join((str(seed), *names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def even_draw(index: int) -> float:
    """Return a number in [0, 1) such that every run of indices covers the range evenly.

    Used where a small cohort must still hold each sex or each class at about its share; an
    independent draw would often leave one out. The sequence is the multiples of the golden ratio.
    """
    return (0.5 + index * GOLDEN) % 1.0
