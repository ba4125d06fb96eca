"""What is said where an index has too little for the samples that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deaps.sampling.batch import Views
from storage.schema import WINDOW_S

if TYPE_CHECKING:
    from deaps.config import SamplingSettings
    from deaps.sampling.view_rules import Rule
    from deaps.sampling.window_pool import WindowPool


def nobody_qualifies(pool: WindowPool, views: Views, settings: SamplingSettings, rule: Rule) -> str:
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
    return f"0 of {n} subjects have {rule.needs} (data sets: {names}); {rule.advice}"


def some_left_out(pool: WindowPool, subjects: NDArray[np.int64], rule: Rule) -> list[str]:
    """Return a sentence for each data set of which not all subjects are in ``subjects``."""
    totals = np.bincount(pool.subject_datasets, minlength=len(pool.datasets))
    found = np.bincount(pool.subject_datasets[subjects], minlength=len(pool.datasets))
    return [
        f"{name}: {k} of {n} subjects have {rule.needs}; the others are never drawn"
        for name, k, n in zip(pool.datasets, found.tolist(), totals.tolist(), strict=True)
        if k < n
    ]


def batch_exceeds(batch: int, n_subjects: int) -> str:
    """Return how often a subject is in a batch of more samples than there are subjects."""
    whole, rest = divmod(batch, n_subjects)
    times = f"{whole} or {whole + 1}" if rest else f"{whole}"
    return (
        f"a batch of {batch} exceeds the {n_subjects} subjects that qualify: each is in it "
        f"{times} times"
    )
