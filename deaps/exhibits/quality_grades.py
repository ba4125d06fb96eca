"""Our quality classes against the grades that technicians gave to the same nights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from deaps.evaluation.document import QualityGrades

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DRAWS = 2000
_INTERVAL = (2.5, 97.5)
_GRADES = """
SELECT dataset, subject, grade, unacceptable_share FROM quality_grades
ORDER BY dataset, recording_id
"""


def quality_grades(
    index: DuckDBPyConnection, *, seed: int, draws: int = DRAWS
) -> tuple[QualityGrades, ...]:
    """Return the rank correlation of grade and share of Unacceptable windows, by data set.

    The better the grade, the fewer windows should be Unacceptable: a good score gives a negative
    correlation. The interval comes from draws of people, who may have two nights each.
    """
    columns = index.execute(_GRADES).fetchnumpy()
    datasets = columns["dataset"].astype(str)
    return tuple(
        _of_dataset(
            name,
            np.asarray(columns["grade"], float)[datasets == name],
            np.asarray(columns["unacceptable_share"], float)[datasets == name],
            columns["subject"].astype(str)[datasets == name],
            seed=seed,
            draws=draws,
        )
        for name in np.unique(datasets)
    )


def _of_dataset(
    dataset: str,
    grade: NDArray[np.float64],
    share: NDArray[np.float64],
    subject: NDArray[np.str_],
    *,
    seed: int,
    draws: int,
) -> QualityGrades:
    people, owner = np.unique(subject, return_inverse=True)
    rows = [np.flatnonzero(owner == k) for k in range(len(people))]
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(draws):
        chosen = np.concatenate([rows[k] for k in rng.integers(0, len(people), len(people))])
        drawn.append(spearman(grade[chosen], share[chosen]))
    finite = np.array([value for value in drawn if value is not None])
    low, high = np.percentile(finite, _INTERVAL).tolist() if len(finite) else (None, None)
    return QualityGrades(
        dataset=dataset,
        grade=tuple(grade.tolist()),
        share=tuple(share.tolist()),
        correlation=spearman(grade, share),
        low=low,
        high=high,
        subjects=len(people),
    )


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation, equal values sharing their mean rank.

    None where one of the two does not vary.
    """
    if len(first) < 2:
        return None
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else None
