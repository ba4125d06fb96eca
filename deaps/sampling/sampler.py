"""Which windows each step sees: a pure function of seed and step.

Nothing is remembered between draws, so a run that resumes, a process that joins and a reader
that works ahead all get the same batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray
from torch import Tensor

from deaps.sampling.view_rules import (
    AdjacentWindows,
    DistantWindows,
    Drawn,
    Rule,
    SingleWindow,
    TripletWithDistant,
    TripletWithVisit,
    TwoVisits,
)
from deaps.sampling.window_pool import NotEnoughDataError, WindowPool, load_pool
from storage.schema import WINDOW_S

if TYPE_CHECKING:
    from deaps.config import SamplingSettings


@dataclass(frozen=True, slots=True)
class Draw:
    """The windows of a step's global batch, or of one process's part of it.

    Attributes
    ----------
    recording_ids, rows
        int64 (n, views), as `WindowStore.read` takes them.
    before_s, after_s
        float32 (n,): i and j of a triplet in seconds, else zero.
    subjects
        int64 (n,).
    seed
        For what the method draws itself in this step.
    """

    recording_ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    before_s: NDArray[np.float32]
    after_s: NDArray[np.float32]
    subjects: NDArray[np.int64]
    seed: int

    def part(self, rank: int, world: int) -> Draw:
        """Return the rows of one of ``world`` processes."""
        mine = slice(rank, None, world)
        return replace(
            self,
            recording_ids=self.recording_ids[mine],
            rows=self.rows[mine],
            before_s=self.before_s[mine],
            after_s=self.after_s[mine],
            subjects=self.subjects[mine],
        )


class Sampler:
    """Draws the windows of a step.

    Subjects of a batch are distinct and drawn with equal chance among those that qualify; a
    batch larger than their number takes whole permutations of them first, then a part. A
    subject's recording is drawn with equal chance among those that serve, a window among those
    of the recording.

    Parameters
    ----------
    pool
        The usable windows.
    views
        What makes one sample.
    settings
        Span of a triplet, and what the two sides of a pair are.
    batch
        Samples of a step, over all processes.
    seed
        Any integer; another seed gives other batches at every step.

    Attributes
    ----------
    notes
        What a person should know before training, in sentences.

    Raises
    ------
    NotEnoughDataError
        If no subject has the windows of a sample.
    """

    def __init__(
        self,
        pool: WindowPool,
        views: Views,
        settings: SamplingSettings,
        *,
        batch: int,
        seed: int,
    ) -> None:
        if batch < 1:
            raise ValueError(f"batch is {batch}; expected 1 or more")
        self.pool, self.views, self.batch, self.seed = pool, views, batch, seed
        self._rule = _rule(pool, views, settings)
        serves = self._rule.serves
        self.notes: list[str] = _left_out(pool, serves, self._rule.needs)
        if settings.subjects == "paired" and views is not Views.QUADRUPLE:
            triplets = _rule(pool, Views.QUADRUPLE, settings)
            self.notes += _paired_notes(pool, triplets, self._rule)
            serves = serves & _of_paired(pool, triplets)
        serving = pool.by_subject[serves[pool.by_subject]]
        subjects, first = np.unique(pool.subjects[serving], return_index=True)
        if not len(subjects):
            raise NotEnoughDataError(_no_subject(pool, views, settings, self._rule))
        self._serving, self._first = serving, np.append(first, len(serving))
        self.subjects: NDArray[np.int64] = subjects
        if batch > len(subjects):
            self.notes.append(_batch_exceeds(batch, len(subjects)))

    def draw(self, step: int) -> Draw:
        """Return the global batch of a step."""
        rng = _generator(self.seed, step)
        seed = int(rng.integers(2**63))
        chosen = _choose(rng, len(self.subjects), self.batch)
        recordings = self._serving[rng.integers(self._first[chosen], self._first[chosen + 1])]
        drawn = self._rule.draw(rng, recordings)
        if self.views is Views.PARTNER:
            drawn = _with_partners(rng, drawn)
        before_s, after_s = self._triplet_times(drawn.windows)
        return Draw(
            recording_ids=self.pool.recording_ids[drawn.recordings].astype(np.int64),
            rows=self.pool.rows[drawn.windows].astype(np.int64),
            before_s=before_s,
            after_s=after_s,
            subjects=self.subjects[chosen],
            seed=seed,
        )

    def _triplet_times(
        self, windows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if self.views is not Views.QUADRUPLE:
            return np.zeros(self.batch, np.float32), np.zeros(self.batch, np.float32)
        times = np.diff(self.pool.places[windows[:, 1:]], axis=1) * np.float32(WINDOW_S)
        return times[:, 0].astype(np.float32), times[:, 1].astype(np.float32)


def open_sampler(
    index: Path | str, views: Views, settings: SamplingSettings, *, batch: int, seed: int
) -> Sampler:
    """Return the sampler of an index file, or of the published index of a store."""
    return Sampler(load_pool(index, settings), views, settings, batch=batch, seed=seed)


def _generator(seed: int, step: int) -> Generator:
    """Return the generator of one step: the seed is Philox's key, the step part of its counter.

    The counter's lower 128 bits are left to the draws of the step, so steps never overlap.
    """
    if step < 0:
        raise ValueError(f"step is {step}; expected 0 or more")
    return Generator(Philox(key=seed % 2**128, counter=step << 128))


def _choose(rng: Generator, n: int, batch: int) -> NDArray[np.int64]:
    """Return ``batch`` of n numbers, none a second time before all were chosen once."""
    whole = [rng.permutation(n) for _ in range(batch // n)]
    return np.concatenate([*whole, rng.choice(n, batch % n, replace=False)])


def _with_partners(rng: Generator, drawn: Drawn) -> Drawn:
    """Return each window and that of the sample after it on a random round through the batch.

    No sample is its own partner, unless it is alone.
    """
    order = rng.permutation(len(drawn.windows))
    partner = np.empty_like(order)
    partner[order] = np.roll(order, -1)
    return Drawn(*(np.concatenate([part, part[partner]], axis=1) for part in drawn))


def _of_paired(pool: WindowPool, triplets: Rule) -> NDArray[np.bool_]:
    """Return which recordings are of people that DEAPS can draw from, (recordings,).

    Where nobody gives a triplet, such as on recordings of ten seconds, everybody stays.
    """
    if not triplets.serves.any():
        return np.ones(len(pool.subjects), bool)
    return np.isin(pool.subjects, pool.subjects[triplets.serves])


def _paired_notes(pool: WindowPool, triplets: Rule, rule: Rule) -> list[str]:
    """Return how many subjects ``sampling.subjects=paired`` leaves out, in sentences."""
    if not triplets.serves.any():
        return [
            f"no subject has {triplets.needs}, so sampling.subjects=paired leaves nobody out: "
            f"all who have {rule.needs} are drawn"
        ]
    needs = f"{triplets.needs}, as sampling.subjects=paired asks"
    paired = rule.serves & _of_paired(pool, triplets)
    return _left_out(pool, paired, needs, among=rule)


def _rule(pool: WindowPool, views: Views, settings: SamplingSettings) -> Rule:
    steps = settings.triplet_span_s // WINDOW_S
    apart = -(-settings.distance_s // WINDOW_S)
    within = settings.pairing == "recording"
    if views is Views.QUADRUPLE:
        if within:
            return TripletWithDistant(pool, steps=steps, apart=apart)
        return TripletWithVisit(pool, steps=steps)
    if views is Views.PAIR:
        return DistantWindows(pool, apart=apart) if within else TwoVisits(pool)
    return AdjacentWindows(pool) if views is Views.ADJACENT else SingleWindow(pool)


def _no_subject(pool: WindowPool, views: Views, settings: SamplingSettings, rule: Rule) -> str:
    """Return why no subject gives a sample, and what to set."""
    n, names = len(pool.subject_datasets), ", ".join(pool.datasets)
    extents = pool.places[pool.offsets[1:] - 1] - pool.places[pool.offsets[:-1]]
    longest_s = int(extents.max()) * WINDOW_S
    if views is Views.QUADRUPLE and longest_s < settings.triplet_span_s:
        return (
            f"sampling.triplet_span_s is {settings.triplet_span_s}, longer than any recording: "
            f"the usable windows of one start at most {longest_s} s apart (data sets: "
            f"{names}; {n} subjects); lower it or choose other sampling.datasets"
        )
    if rule.serves.any():
        return (
            f"0 of {n} subjects have {rule.needs} and are among those that DEAPS can draw from, as "
            f"sampling.subjects=paired asks (data sets: {names}); set sampling.subjects=all"
        )
    return f"0 of {n} subjects have {rule.needs} (data sets: {names}); {rule.advice}"


def _left_out(
    pool: WindowPool, serves: NDArray[np.bool_], needs: str, *, among: Rule | None = None
) -> list[str]:
    """Return a sentence for each data set of which some subjects have no recording that serves.

    They are counted among all subjects, or among those who fulfil the rule ``among``.
    """
    everybody = np.arange(len(pool.subject_datasets))
    total = everybody if among is None else pool.subjects[among.serves]
    who = "subjects" if among is None else f"subjects with {among.needs}"
    counts = zip(
        pool.datasets,
        _by_dataset(pool, pool.subjects[serves]),
        _by_dataset(pool, total),
        strict=True,
    )
    return [
        f"{name}: {k} of {n} {who} have {needs}; the others are never drawn"
        for name, k, n in counts
        if k < n
    ]


def _by_dataset(pool: WindowPool, subjects: NDArray[np.int64]) -> list[int]:
    """Return how many different subjects there are of each data set."""
    datasets = pool.subject_datasets[np.unique(subjects)]
    return np.bincount(datasets, minlength=len(pool.datasets)).tolist()


def _batch_exceeds(batch: int, n_subjects: int) -> str:
    """Return how often a subject is in a batch of more samples than there are subjects."""
    whole, rest = divmod(batch, n_subjects)
    times = f"{whole} or {whole + 1}" if rest else f"{whole}"
    return (
        f"a batch of {batch} exceeds the {n_subjects} subjects that qualify: each is in it "
        f"{times} times"
    )


class Views(StrEnum):
    """Which windows make one sample; the order is that of `Batch.windows`' second axis."""

    QUADRUPLE = "quadruple"
    """X1 of one visit; X(t-i), X(t), X(t+j) of another visit of the same subject."""

    PAIR = "pair"
    """Two windows of one subject, of different visits; with ``sampling.pairing = "recording"``, far
    apart in one recording."""

    ADJACENT = "adjacent"
    """Two windows of one recording, the second starting where the first ends."""

    PARTNER = "partner"
    """A window, and the window of another sample of the (global) batch."""

    SINGLE = "single"
    """One window."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples that one process sees in one step: rows ``rank::world`` of the global batch.

    Attributes
    ----------
    windows
        float32 (n, views, 1000).
    before_s, after_s
        float32 (n,): i and j, the seconds from X(t-i) to X(t) and from X(t) to X(t+j); zero
        where there is no triplet.
    subjects
        int64 (n,): a number for each subject, the same in every batch.
    seed
        Of whatever a method draws at random in this step; the same in every process. Draw for
        the global batch and take rows ``rank::world``.
    rank, world
        Which of how many processes this is.
    """

    windows: Tensor
    before_s: Tensor
    after_s: Tensor
    subjects: Tensor
    seed: int
    rank: int = 0
    world: int = 1
