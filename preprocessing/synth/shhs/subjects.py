"""Who is in the synthetic SHHS, and how each visit was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preprocessing.config import SynthSettings
from preprocessing.synth.physiology.episodes import Bout, Rhythm, Segment, schedule, whole
from preprocessing.synth.physiology.factors import Population, Subject, draw_electrode, draw_subject
from preprocessing.synth.physiology.noise import NoiseLevel, NoiseProfile, draw_level
from preprocessing.synth.physiology.sleep import SleepNight, draw_sleep
from preprocessing.synth.recording import Recording, Setup, record
from preprocessing.synth.seeding import even_draw, rng_for

FIRST_ID = 200001
AFIB_SHARE = 0.05
INVERTED_SHARE = 0.1

POPULATION = Population(
    age=(63.0, 11.0),
    rate=(73.0, 9.0),
    qrs_scale=(1.02, 0.18),
    gain=(0.75, 0.25),
    age_range=(39.0, 90.0),
)
NOISE = NoiseProfile(
    wander_mv=0.03, muscle_mv=0.008, mains_mv=0.004, mains_hz=60.0, lead_off=0.4, lead_off_s=40.0
)


@dataclass(frozen=True, slots=True)
class Visit:
    """One night of one subject: the EDF ``shhs<number>-<nsrrid>``."""

    nsrrid: int
    number: int

    @property
    def name(self) -> str:
        """Return the file's name without its ending."""
        return f"shhs{self.number}-{self.nsrrid}"


def ids(settings: SynthSettings) -> range:
    """Return the subjects' identifiers."""
    return range(FIRST_ID, FIRST_ID + settings.shhs_subjects)


def has_second_edf(nsrrid: int) -> bool:
    """Return whether there is a second night; one subject in six has none."""
    return (nsrrid - FIRST_ID) % 6 != 4


def has_second_row(nsrrid: int) -> bool:
    """Return whether the second table lists the subject; it lists some without a file."""
    return has_second_edf(nsrrid) or (nsrrid - FIRST_ID) % 12 == 4


def sex_is_known(nsrrid: int) -> bool:
    """Return whether the tables give a sex; one in twelve is empty."""
    return (nsrrid - FIRST_ID) % 12 != 7


def visits(settings: SynthSettings) -> tuple[Visit, ...]:
    """Return all nights that have a file."""
    return tuple(
        Visit(nsrrid, number)
        for nsrrid in ids(settings)
        for number in (1, 2)
        if number == 1 or has_second_edf(nsrrid)
    )


def subject_of(seed: int, nsrrid: int) -> Subject:
    """Return a subject as of the first visit; the sexes are about equally many."""
    rng = rng_for(seed, "shhs", str(nsrrid), "subject")
    return draw_subject(POPULATION, rng, male=even_draw(nsrrid - FIRST_ID) < 0.48)


def sampling_rate(visit: Visit) -> int:
    """Return the rate of the ECG: 125 Hz, rarely 250, then 250 Hz, sometimes 256."""
    index = visit.nsrrid - FIRST_ID
    if visit.number == 1:
        return 250 if index % 40 == 9 else 125
    return 256 if index % 12 == 2 else 250


def noise_level(seed: int, visit: Visit) -> NoiseLevel:
    """Return how noisy a night is."""
    return draw_level(NOISE, rng_for(seed, "shhs", visit.name, "noise"))


def quality_grade(seed: int, visit: Visit) -> int:
    """Return the technician's grade of the heart signal, 5 for the best to 1."""
    limits = (0.6, 1.2, 1.7, 2.2)
    return 5 - sum(noise_level(seed, visit).overall > limit for limit in limits)


def segments_of(settings: SynthSettings, visit: Visit) -> tuple[Segment, ...]:
    """Return the rhythms of a night; one subject in twenty has AFib, all night or at times."""
    duration_s = float(max(1, round(3600.0 * settings.shhs_hours)))
    person = rng_for(settings.seed, "shhs", str(visit.nsrrid), "afib")
    if person.random() >= AFIB_SHARE:
        return whole(duration_s)
    if person.random() < 0.4:
        return whole(duration_s, Rhythm.FIBRILLATION)
    rng = rng_for(settings.seed, "shhs", visit.name, "rhythm")
    bout = Bout(Rhythm.FIBRILLATION, float(rng.uniform(0.1, 0.6)), int(rng.integers(1, 4)))
    return schedule(duration_s, [bout], rng)


def apnea_index(seed: int, nsrrid: int) -> float:
    """Return a person's apneas and hypopneas for each hour of sleep: half have more than 10."""
    rng = rng_for(seed, "shhs", str(nsrrid), "breathing")
    return float(np.clip(10.0 * np.exp(0.9 * rng.standard_normal()), 0.5, 70.0))


def sleep_of(settings: SynthSettings, visit: Visit) -> SleepNight:
    """Return stages and events of one night."""
    duration_s = segments_of(settings, visit)[-1].end_s
    rng = rng_for(settings.seed, "shhs", visit.name, "sleep")
    return draw_sleep(duration_s, apnea_index(settings.seed, visit.nsrrid), rng)


def scorings_differ(visit: Visit) -> bool:
    """Return whether the night's two scorings disagree; one in twelve second nights."""
    return visit.number == 2 and (visit.nsrrid - FIRST_ID) % 12 == 3


def make_night(settings: SynthSettings, visit: Visit) -> Recording:
    """Return the ECG of one night in mV, with its beats, rhythms, breathing and sleep.

    Gain and axis are drawn anew for each visit; in the first, one in ten is upside down.
    """
    rng = rng_for(settings.seed, "shhs", visit.name)
    inverted = visit.number == 1 and bool(rng.random() < INVERTED_SHARE)
    electrode = draw_electrode(POPULATION, rng, inverted=inverted)
    setup = Setup(sampling_rate(visit), ("MLII",), NOISE, asleep=True)
    subject = subject_of(settings.seed, visit.nsrrid)
    segments = segments_of(settings, visit)
    level = noise_level(settings.seed, visit)
    sleep = sleep_of(settings, visit)
    return record(subject, segments, electrode, setup, rng, level=level, sleep=sleep)
