"""Which windows of a subject may make one sample, and how they are drawn.

A rule is given recordings that serve it and returns windows as positions in the pool. All of it
is arithmetic on whole batches: a loop over 256 samples in Python would take longer than reading
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from deaps.sampling.window_pool import WindowPool, find_anchors, first_from
from storage.schema import WINDOW_S

Ints = NDArray[np.int64]

_TRIPLET_ADVICE = "lower sampling.triplet_span_s or widen sampling.qualities"


class Drawn(NamedTuple):
    """Recordings and windows of samples, positions in the pool: int64 (n, views) both."""

    recordings: Ints
    windows: Ints


class Rule(ABC):
    """One way to make a sample.

    Attributes
    ----------
    serves
        bool (recordings,): the recordings that `draw` may be given.
    needs
        What a subject must have, as the end of "12 of 20 subjects have ...".
    advice
        What to set where no subject has it.
    """

    serves: NDArray[np.bool_]
    needs: str
    advice: str = "widen sampling.qualities or sampling.datasets"

    def __init__(self, pool: WindowPool) -> None:
        self.pool = pool

    @abstractmethod
    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return one sample from each recording."""

    def _any_window(self, rng: Generator, recordings: Ints) -> Ints:
        offsets = self.pool.offsets
        return rng.integers(offsets[recordings], offsets[recordings + 1])

    def _outside(self, rng: Generator, recordings: Ints, before: Ints, after: Ints) -> Ints:
        """Return a window of each recording at ``before`` or earlier, or ``after`` or later."""
        start, end = self.pool.offsets[recordings], self.pool.offsets[recordings + 1]
        n_before = first_from(self.pool, recordings, before + 1) - start
        # Where the two overlap, every window is outside.
        tail = np.maximum(first_from(self.pool, recordings, after), start + n_before)
        chosen = rng.integers(0, n_before + end - tail)
        return np.where(chosen < n_before, start + chosen, tail + chosen - n_before)


class SingleWindow(Rule):
    """Any usable window."""

    needs = "a usable window"

    def __init__(self, pool: WindowPool) -> None:
        super().__init__(pool)
        self.serves = np.ones(len(pool.recording_ids), bool)

    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return one window, (n, 1)."""
        return Drawn(recordings[:, None], self._any_window(rng, recordings)[:, None])


class AdjacentWindows(Rule):
    """Two windows of one recording, the second starting where the first ends."""

    needs = "two adjacent usable windows"

    def __init__(self, pool: WindowPool) -> None:
        super().__init__(pool)
        self._anchors = find_anchors(pool, 1)
        self.serves = self._anchors.counts > 0

    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return the two in order of time, (n, 2)."""
        first = self._anchors.draw(rng, recordings)
        return Drawn(_same(recordings, 2), np.stack([first, first + 1], axis=1))


class DistantWindows(Rule):
    """Two windows of one recording at least ``apart`` places from each other."""

    def __init__(self, pool: WindowPool, *, apart: int) -> None:
        super().__init__(pool)
        self._apart = apart
        self._earliest = pool.places[pool.offsets[:-1]].astype(np.int64)
        self._latest = pool.places[pool.offsets[1:] - 1].astype(np.int64)
        self.serves = self._latest - self._earliest >= apart
        self.needs = f"usable windows {apart * WINDOW_S} s apart in one recording"
        self.advice = "lower sampling.distance_s, or set sampling.pairing=visits"

    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return the two in either order, (n, 2)."""
        # The first one is any window that has another far enough from it.
        before, after = self._latest[recordings], self._earliest[recordings]
        first = self._outside(rng, recordings, before - self._apart, after + self._apart)
        place = self.pool.places[first].astype(np.int64)
        second = self._outside(rng, recordings, place - self._apart, place + self._apart)
        return Drawn(_same(recordings, 2), np.stack([first, second], axis=1))


class TwoVisits(Rule):
    """One window of each of two visits."""

    needs = "usable windows in two visits"
    advice = "set sampling.pairing=recording to pair distant windows of one recording"

    def __init__(self, pool: WindowPool) -> None:
        super().__init__(pool)
        self._others = OtherVisits(pool)
        self.serves = self._others.counts > 0

    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return a window of each recording and one of another visit, (n, 2)."""
        other = self._others.draw(rng, recordings)
        pair = np.stack([recordings, other], axis=1)
        return Drawn(pair, self._any_window(rng, pair))


class TripletWithVisit(Rule):
    """X(t-i), X(t), X(t+j) of one visit and X1 of another."""

    def __init__(self, pool: WindowPool, *, steps: int) -> None:
        super().__init__(pool)
        self._others = OtherVisits(pool)
        self._triplets = Triplets(pool, steps)
        self.serves = self._triplets.exist & (self._others.counts > 0)
        self.needs = f"a triplet over {steps * WINDOW_S} s and a usable window of another visit"
        self.advice = _TRIPLET_ADVICE
        if not (self._others.counts > 0).any():
            self.needs, self.advice = TwoVisits.needs, TwoVisits.advice

    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return X1, X(t-i), X(t), X(t+j), (n, 4)."""
        triplet = self._triplets.draw(rng, recordings)
        other = self._others.draw(rng, recordings)
        return _quadruple(other, self._any_window(rng, other), recordings, triplet)


class TripletWithDistant(Rule):
    """X(t-i), X(t), X(t+j), and X1 of the same recording ``apart`` places or more from all."""

    def __init__(self, pool: WindowPool, *, steps: int, apart: int) -> None:
        super().__init__(pool)
        self._apart = apart
        self._triplets = Triplets(pool, steps, apart=apart)
        self.serves = self._triplets.exist
        self.needs = (
            f"a triplet over {steps * WINDOW_S} s and a usable window {apart * WINDOW_S} s away "
            "from it in the same recording"
        )
        self.advice = f"lower sampling.distance_s, or {_TRIPLET_ADVICE}"

    def draw(self, rng: Generator, recordings: Ints) -> Drawn:
        """Return X1, X(t-i), X(t), X(t+j), (n, 4)."""
        triplet = self._triplets.draw(rng, recordings)
        places = self.pool.places[triplet].astype(np.int64)
        before, after = places[:, 0] - self._apart, places[:, 2] + self._apart
        distant = self._outside(rng, recordings, before, after)
        return _quadruple(recordings, distant, recordings, triplet)


class Triplets:
    """Three windows of a recording: two exactly ``steps`` places apart and one between them.

    Those not drawn need not be usable. ``exist`` is bool (recordings,).
    """

    def __init__(self, pool: WindowPool, steps: int, *, apart: int | None = None) -> None:
        self._pool, self._steps = pool, steps
        self._anchors = find_anchors(pool, steps, between=1, apart=apart)
        self.exist = self._anchors.counts > 0

    def draw(self, rng: Generator, recordings: Ints) -> Ints:
        """Return X(t-i), X(t), X(t+j), (n, 3)."""
        first = self._anchors.draw(rng, recordings)
        wanted = self._pool.places[first].astype(np.int64) + self._steps
        last = first_from(self._pool, recordings, wanted)
        return np.stack([first, rng.integers(first + 1, last), last], axis=1)


class OtherVisits:
    """For each recording, those of the same subject's other visits.

    In ``by_subject`` the recordings of a subject lie together, and among them those of a visit:
    the others are the subject's run without the visit's. ``counts`` is int64 (recordings,).
    """

    def __init__(self, pool: WindowPool) -> None:
        self._by_subject = pool.by_subject
        self._subject_first, subject_n = _runs(pool.subjects, pool.by_subject)
        both = np.unique(np.stack([pool.subjects, pool.visits]), axis=1, return_inverse=True)[1]
        self._visit_first, self._visit_n = _runs(both.reshape(-1), pool.by_subject)
        self.counts = subject_n - self._visit_n

    def draw(self, rng: Generator, recordings: Ints) -> Ints:
        """Return a recording of another visit for each, all such with equal chance."""
        chosen = self._subject_first[recordings] + rng.integers(0, self.counts[recordings])
        beyond = chosen >= self._visit_first[recordings]
        return self._by_subject[np.where(beyond, chosen + self._visit_n[recordings], chosen)]


def _runs(groups: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Return where in ``order`` the run of each recording's group begins, and its length."""
    _, first, inverse, counts = np.unique(
        groups[order], return_index=True, return_inverse=True, return_counts=True
    )
    starts, lengths = np.empty_like(order), np.empty_like(order)
    starts[order], lengths[order] = first[inverse], counts[inverse]
    return starts, lengths


def _same(recordings: Ints, views: int) -> Ints:
    return np.repeat(recordings[:, None], views, axis=1)


def _quadruple(other: Ints, x1: Ints, recordings: Ints, triplet: Ints) -> Drawn:
    return Drawn(np.column_stack([other, _same(recordings, 3)]), np.column_stack([x1, triplet]))
