"""Static factors: the sexes differ, and a person stays the same from visit to visit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from preprocessing.config import SynthSettings
from preprocessing.synth.physiology.people import Subject, draw_subject
from preprocessing.synth.recording import Recording, rng_for
from preprocessing.synth.shhs_nights import (
    POPULATION,
    Visit,
    make_night,
    quality_grade,
    sampling_rate,
    subject_of,
)
from storage.schema import Sex

SETTINGS = SynthSettings(shhs_subjects=8, shhs_hours=0.05)
FloatArray = npt.NDArray[np.float64]


def people(*, male: bool, count: int = 300) -> list[Subject]:
    return [
        draw_subject(POPULATION, rng_for(5, str(i), str(male)), male=male) for i in range(count)
    ]


def gap(name: str) -> float:
    """Return the difference of the sexes' means in pooled standard deviations."""
    men, women = (np.array([getattr(s, name) for s in people(male=male)]) for male in (True, False))
    return float((men.mean() - women.mean()) / np.sqrt((men.var() + women.var()) / 2))


def median_beat(night: Recording, fs: float) -> FloatArray:
    offsets = np.arange(-0.25, 0.45, 0.01)
    times = night.beats.time_s[2:-2, None] + offsets[None, :]
    lead = np.interp(times, np.arange(night.mv.shape[1]) / fs, night.mv[0])
    return np.asarray(np.median(lead, axis=0))


@pytest.fixture(scope="module")
def beats() -> dict[Visit, FloatArray]:
    visits = [Visit(nsrrid, number) for nsrrid in range(200001, 200009) for number in (1, 2)]
    return {v: median_beat(make_night(SETTINGS, v), sampling_rate(v)) for v in visits}


@pytest.mark.parametrize(
    ("name", "sign"),
    [("rate", -1), ("r_mv", 1), ("t_mv", 1), ("qt_s", -1), ("qrs_scale", 1), ("st_mv", 1)],
)
def test_the_sexes_differ_but_overlap(name: str, sign: int) -> None:
    assert 0.2 < sign * gap(name) < 1.5


def test_small_cohorts_hold_both_sexes() -> None:
    sexes = [subject_of(SETTINGS.seed, nsrrid).sex for nsrrid in range(200001, 200007)]
    assert set(sexes) == set(Sex)


def test_two_visits_of_a_person_agree_more_than_two_people(
    beats: dict[Visit, FloatArray],
) -> None:
    visits = list(beats)
    # A first visit may be upside down: the sign of the correlation carries no identity.
    alike = np.abs(np.corrcoef([beats[v] for v in visits]))
    same = [alike[i, i + 1] for i in range(0, len(visits), 2)]
    other = [
        alike[i, j]
        for i, a in enumerate(visits)
        for j, b in enumerate(visits)
        if a.nsrrid != b.nsrrid
    ]
    assert np.median(same) > 0.95
    assert np.median(same) > np.median(other) + 0.05


def test_a_subject_draws_the_same_whatever_the_visit() -> None:
    assert subject_of(1, 200001) == subject_of(1, 200001)
    assert subject_of(1, 200001) != subject_of(1, 200002)


def test_most_nights_get_a_good_grade_and_some_a_bad_one() -> None:
    grades = [quality_grade(1, Visit(nsrrid, 1)) for nsrrid in range(200001, 200301)]
    assert np.mean(np.array(grades) >= 4) > 0.75
    assert min(grades) <= 2
