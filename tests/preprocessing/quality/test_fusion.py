"""Grades and classes against a loop written from the rules of Zhao & Zhang (2018)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from preprocessing import quality
from storage.schema import Quality

NAN = float("nan")
PSQI = (NAN, 0.0, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
RATE = (NAN, 60.0, 129.9, 130.0, 200.0)
KSQI = (NAN, 3.0, 5.0, 5.01)
BASSQI = (0.5, 0.8999, 0.9, 0.93, 0.95, 1.0)
QSQI = (0.0, 0.59, 0.6, 0.75, 0.9, 0.91, 1.0)


def psqi_word(psqi: float, rate: float) -> str:
    low, middle, high = (0.3, 0.4, 0.7) if rate >= 130 else (0.4, 0.5, 0.8)
    if middle < psqi < high:
        return "optimal"
    return "suspicious" if low < psqi < middle else "unqualified"


def bassqi_word(bassqi: float) -> str:
    if bassqi >= 0.95:
        return "optimal"
    return "unqualified" if bassqi < 0.9 else "suspicious"


def qsqi_word(qsqi: float) -> str:
    if qsqi > 0.9:
        return "optimal"
    return "unqualified" if qsqi < 0.6 else "suspicious"


def class_of_three(words: list[str]) -> Quality:
    bad, doubtful, good = map(words.count, ("unqualified", "suspicious", "optimal"))
    if bad >= 2 or (bad == 1 and doubtful == 2):
        return Quality.UNACCEPTABLE
    return Quality.EXCELLENT if good >= 2 and bad == 0 else Quality.BARELY_ACCEPTABLE


def class_of_four(words: list[str]) -> Quality:
    bad, doubtful, good = map(words.count, ("unqualified", "suspicious", "optimal"))
    if bad >= 3 or (bad == 2 and doubtful >= 1) or (bad == 1 and doubtful == 3):
        return Quality.UNACCEPTABLE
    return Quality.EXCELLENT if good >= 3 and bad == 0 else Quality.BARELY_ACCEPTABLE


def names(codes: np.ndarray) -> list[Quality]:
    assert codes.dtype == np.int8
    return [tuple(Quality)[code] for code in codes]


def test_three_index_class_follows_the_rules_for_all_combinations() -> None:
    cases = list(product(PSQI, RATE, KSQI, BASSQI))
    psqi, rate, ksqi, bassqi = np.array(cases).T
    got = quality.fuse_three(
        quality.grade_psqi(psqi, rate), quality.grade_ksqi(ksqi), quality.grade_bassqi(bassqi)
    )
    expected = [
        class_of_three([psqi_word(p, r), "optimal" if k > 5 else "unqualified", bassqi_word(b)])
        for p, r, k, b in cases
    ]
    assert names(got) == expected


def test_four_index_class_follows_the_rules_for_all_combinations() -> None:
    cases = list(product(PSQI, RATE, KSQI, BASSQI, QSQI))
    psqi, rate, ksqi, bassqi, qsqi = np.array(cases).T
    got = quality.fuse_four(
        quality.grade_psqi(psqi, rate),
        quality.grade_ksqi(ksqi),
        quality.grade_bassqi(bassqi),
        quality.grade_qsqi(qsqi),
    )
    expected = [
        class_of_four(
            [
                psqi_word(p, r),
                "optimal" if k > 5 else "unqualified",
                bassqi_word(b),
                qsqi_word(q),
            ]
        )
        for p, r, k, b, q in cases
    ]
    assert names(got) == expected


def test_every_triple_of_grades_has_the_class_of_the_rules() -> None:
    words = {0: "unqualified", 1: "suspicious", 2: "optimal"}
    triples = list(product(words, repeat=3))
    got = quality.fuse_three(*np.array(triples, dtype=np.int8).T)
    assert names(got) == [class_of_three([words[grade] for grade in each]) for each in triples]


def test_every_quadruple_of_grades_has_the_class_of_the_rules() -> None:
    words = {0: "unqualified", 1: "suspicious", 2: "optimal"}
    quadruples = list(product(words, repeat=4))
    got = quality.fuse_four(*np.array(quadruples, dtype=np.int8).T)
    assert names(got) == [class_of_four([words[grade] for grade in each]) for each in quadruples]


@pytest.mark.parametrize("grade", [quality.grade_ksqi, quality.grade_bassqi, quality.grade_qsqi])
def test_an_index_that_is_nan_is_unqualified(grade: object) -> None:
    assert callable(grade)
    assert grade(np.array([NAN])) == [quality.Grade.UNQUALIFIED]
