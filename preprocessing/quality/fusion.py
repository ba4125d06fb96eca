"""From indices to classes: the "simple heuristic fusion" of Zhao & Zhang (2018).

Zhao & Zhang, "SQI quality evaluation mechanism of single-lead ECG signal based on simple
heuristic fusion and fuzzy comprehensive evaluation", Front. Physiol. 9:727. Each index is graded
unqualified, suspicious or optimal; the class follows from how many there are of each grade. The
limits and, for three indices, the rule are those of ``neurokit2.ecg_quality`` (0.2.13).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from storage.schema import Quality

FAST_RATE = 130.0
"""From this highest heart rate on, in beats/min, pSQI has its other limits."""

PSQI_LIMITS = (0.4, 0.5, 0.8)
"""pSQI is suspicious between the first two, optimal between the last two."""

PSQI_LIMITS_FAST = (0.3, 0.4, 0.7)
"""`PSQI_LIMITS` for fast hearts, whose QRS complexes hold less of the power."""

KSQI_OPTIMAL_ABOVE = 5.0
"""kSQI is optimal above, else unqualified."""

BASSQI_LIMITS = (0.9, 0.95)
"""basSQI is suspicious from the first on, optimal from the second on."""

QSQI_LIMITS = (0.6, 0.9)
"""qSQI is suspicious from the first on, optimal above the second."""

_CODE = {quality: np.int8(code) for code, quality in enumerate(Quality)}

Grades = NDArray[np.int8]


class Grade(IntEnum):
    """What one index says about a window."""

    UNQUALIFIED = 0
    SUSPICIOUS = 1
    OPTIMAL = 2


def grade_psqi(psqi: NDArray[np.floating], hr_max: NDArray[np.floating]) -> Grades:
    """Grade of pSQI, given the highest heart rate in beats/min (NaN, unknown: not fast).

    As in NeuroKit2 a value exactly on a limit is unqualified, and so is one above the range.
    """
    fast = hr_max >= FAST_RATE
    low, middle, high = (
        np.where(fast, quick, usual)
        for quick, usual in zip(PSQI_LIMITS_FAST, PSQI_LIMITS, strict=True)
    )
    suspicious = (psqi > low) & (psqi < middle)
    optimal = (psqi > middle) & (psqi < high)
    return _grades(suspicious, optimal)


def grade_ksqi(ksqi: NDArray[np.floating]) -> Grades:
    """Grade of kSQI: never suspicious."""
    return _grades(np.zeros(ksqi.shape, dtype=np.bool_), ksqi > KSQI_OPTIMAL_ABOVE)


def grade_bassqi(bassqi: NDArray[np.floating]) -> Grades:
    """Grade of basSQI.

    NaN, a window without power, is unqualified; NeuroKit2 calls it suspicious, but as pSQI and
    kSQI are NaN as well the class is the same.
    """
    usable, good = BASSQI_LIMITS
    return _grades(bassqi >= usable, bassqi >= good)


def grade_qsqi(qsqi: NDArray[np.floating]) -> Grades:
    """Grade of qSQI."""
    usable, good = QSQI_LIMITS
    return _grades(qsqi >= usable, qsqi > good)


def fuse_three(psqi: Grades, ksqi: Grades, bassqi: Grades) -> NDArray[np.int8]:
    """Class of each window from three grades, as positions in ``tuple(Quality)``."""
    unqualified, suspicious, optimal = _count((psqi, ksqi, bassqi))
    bad = (unqualified >= 2) | ((unqualified == 1) & (suspicious == 2))
    good = (optimal >= 2) & (unqualified == 0)
    return _classes(bad, good)


def fuse_four(psqi: Grades, ksqi: Grades, bassqi: Grades, qsqi: Grades) -> NDArray[np.int8]:
    """Class of each window from four grades, as positions in ``tuple(Quality)``."""
    unqualified, suspicious, optimal = _count((psqi, ksqi, bassqi, qsqi))
    bad = (
        (unqualified >= 3)
        | ((unqualified == 2) & (suspicious >= 1))
        | ((unqualified == 1) & (suspicious == 3))
    )
    good = (optimal >= 3) & (unqualified == 0)
    return _classes(bad, good)


def _grades(suspicious: NDArray[np.bool_], optimal: NDArray[np.bool_]) -> Grades:
    """Grades from two masks, of which the second prevails."""
    return np.select(
        [optimal, suspicious],
        [np.int8(Grade.OPTIMAL), np.int8(Grade.SUSPICIOUS)],
        default=np.int8(Grade.UNQUALIFIED),
    )


def _count(grades: tuple[Grades, ...]) -> list[NDArray[np.intp]]:
    """How many of a window's indices have each grade, from unqualified to optimal."""
    return [np.sum([index == grade for index in grades], axis=0) for grade in Grade]


def _classes(bad: NDArray[np.bool_], good: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Class codes from two masks that exclude each other."""
    return np.select(
        [bad, good],
        [_CODE[Quality.UNACCEPTABLE], _CODE[Quality.EXCELLENT]],
        default=_CODE[Quality.BARELY_ACCEPTABLE],
    )
