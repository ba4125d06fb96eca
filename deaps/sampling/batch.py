"""The input of a training step: windows of some samples, their times and subjects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from torch import Tensor


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

    @property
    def per_sample(self) -> int:
        """Number of windows of a sample."""
        return {"quadruple": 4, "single": 1}.get(self.value, 2)


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
