"""Anchors of triplets: against a loop over all windows, also over several chunks of the pool."""

from __future__ import annotations

import numpy as np
import pytest

from deaps.sampling import window_pool
from deaps.sampling.window_pool import WindowPool, find_anchors
from tests.deaps.sampling.made_visits import Visit, pool_of, whole

RNG = np.random.default_rng(0)


def gappy(subject: str) -> Visit:
    usable = tuple((RNG.random(40) < 0.7).tolist())
    return Visit(subject, 1, tuple(range(40)), usable)


POOL = pool_of([gappy(f"s{k}") for k in range(9)])


def by_loop(pool: WindowPool, steps: int, between: int, apart: int | None) -> list[list[int]]:
    """Return the anchors of each recording."""
    anchors = []
    for first, last in zip(pool.offsets, pool.offsets[1:], strict=False):
        places = pool.places[first:last].tolist()
        anchors.append([int(first) + k for k, start in enumerate(places)
                        if start + steps in places
                        and sum(start < p < start + steps for p in places) >= between
                        and (apart is None or any(p <= start - apart or p >= start + steps + apart
                                                  for p in places))])  # fmt: skip
    return anchors


@pytest.mark.parametrize("chunk", [1, 60, 10_000])
@pytest.mark.parametrize(
    ("steps", "between", "apart"), [(1, 0, None), (3, 1, None), (6, 2, None), (3, 1, 25)]
)
def test_anchors_are_those_of_a_loop_whatever_the_chunks(
    monkeypatch: pytest.MonkeyPatch, chunk: int, steps: int, between: int, apart: int | None
) -> None:
    monkeypatch.setattr(window_pool, "_CHUNK", chunk)
    anchors = find_anchors(POOL, steps, between=between, apart=apart)
    split = np.split(anchors.positions, anchors.offsets[1:-1])
    expected = by_loop(POOL, steps, between, apart)
    assert any(expected)
    assert [part.tolist() for part in split] == expected


def test_a_window_exactly_far_enough_will_do() -> None:
    pool = pool_of([whole("a", 1, 10)])
    # Places 0 to 9: of triplets over 3 steps, only the first has a window 6 steps after its end,
    # and only the last has one 6 steps before its start.
    assert find_anchors(pool, 3, between=1, apart=6).positions.tolist() == [0, 6]
    assert find_anchors(pool, 3, between=1, apart=7).positions.tolist() == []
