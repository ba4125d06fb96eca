"""The nights of synthetic SHHS: who comes to which visit, and the scorings of their sleep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from preprocessing.config import SynthSettings
from preprocessing.synth.physiology.noise import NoiseLevel, NoiseProfile, draw_level
from preprocessing.synth.physiology.people import Population, Subject, draw_electrode, draw_subject
from preprocessing.synth.physiology.rhythm import Bout, Rhythm, Segment, schedule, whole
from preprocessing.synth.physiology.sleep import EPOCH_S, SleepEvent, SleepNight, draw_sleep
from preprocessing.synth.recording import GOLDEN, Recording, Setup, even_draw, record, rng_for
from storage.schema import EventKind, OldStage

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
_CODES = {
    OldStage.WAKE: ("Wake", 0),
    OldStage.S1: ("Stage 1 sleep", 1),
    OldStage.S2: ("Stage 2 sleep", 2),
    OldStage.S3: ("Stage 3 sleep", 3),
    OldStage.S4: ("Stage 4 sleep", 4),
    OldStage.REM: ("REM sleep", 5),
}
_NAMES = {
    EventKind.AROUSAL: ("Arousals|Arousals", "Arousal|Arousal ()", "Arousal ()"),
    EventKind.OBSTRUCTIVE_APNEA: (
        "Respiratory|Respiratory",
        "Obstructive apnea|Obstructive Apnea",
        "Obstructive Apnea",
    ),
    EventKind.CENTRAL_APNEA: (
        "Respiratory|Respiratory",
        "Central apnea|Central Apnea",
        "Central Apnea",
    ),
    EventKind.MIXED_APNEA: ("Respiratory|Respiratory", "Mixed apnea|Mixed Apnea", "Mixed Apnea"),
    EventKind.HYPOPNEA: ("Respiratory|Respiratory", "Hypopnea|Hypopnea", "Hypopnea"),
    EventKind.DESATURATION: (
        "Respiratory|Respiratory",
        "SpO2 desaturation|SpO2 desaturation",
        "SpO2 desaturation",
    ),
}
"""NSRR's type and concept, and Profusion's name, of each kind."""


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

    Gain and axis are drawn for each visit; in the first, one in ten is upside down.
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


def nsrr_xml(night: SleepNight, duration_s: float) -> str:
    """Return the text of ``<name>-nsrr.xml``."""
    events = [
        _nsrr_event("", "Recording Start Time", 0, duration_s, "00.00.00 22.30.00"),
        *(
            _nsrr_event(*_NAMES[e.kind][:2], e.start_s, e.duration_s, drop=_drop(e))
            for e in night.events
        ),
        *(_nsrr_event("Stages|Stages", *span) for span in _stage_spans(night)),
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
            "<PSGAnnotation>",
            "<SoftwareVersion>Compumedics</SoftwareVersion>",
            f"<EpochLength>{EPOCH_S}</EpochLength>",
            "<ScoredEvents>",
            *events,
            "</ScoredEvents>",
            "</PSGAnnotation>",
            "",
        ]
    )


def profusion_xml(night: SleepNight) -> str:
    """Return the text of ``<name>-profusion.xml``."""
    stages = [f"<SleepStage>{_CODES[stage][1]}</SleepStage>" for stage in night.stages]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            "<CMPStudyConfig>",
            f"<EpochLength>{EPOCH_S}</EpochLength>",
            "<StepChannels/>",
            "<ScoredEvents>",
            *map(_profusion_event, night.events),
            "</ScoredEvents>",
            "<SleepStages>",
            *stages,
            "</SleepStages>",
            "</CMPStudyConfig>",
            "",
        ]
    )


def write_scorings(
    root: Path, name: str, visit: int, night: SleepNight, *, duration_s: float, differ: bool
) -> None:
    """Write both files of one night; to ``differ``, Profusion's has another epoch."""
    other = night
    if differ and night.stages:
        middle = len(night.stages) // 2
        changed = OldStage.S1 if night.stages[middle] is OldStage.WAKE else OldStage.WAKE
        stages = (*night.stages[:middle], changed, *night.stages[middle + 1 :])
        other = SleepNight(stages, night.events)
    texts = {"nsrr": nsrr_xml(night, duration_s), "profusion": profusion_xml(other)}
    for program, text in texts.items():
        folder = root / "polysomnography" / f"annotations-events-{program}" / f"shhs{visit}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}-{program}.xml").write_text(text, encoding="utf-8", newline="\n")


def _nsrr_event(
    kind: str,
    concept: str,
    start_s: float,
    duration_s: float,
    clock: str | None = None,
    drop: int | None = None,
) -> str:
    lines = [
        "<ScoredEvent>",
        f"<EventType>{kind}</EventType>" if kind else "<EventType/>",
        f"<EventConcept>{concept}</EventConcept>",
        f"<Start>{start_s:.1f}</Start>",
        f"<Duration>{duration_s:.1f}</Duration>",
        *([f"<ClockTime>{clock}</ClockTime>"] if clock else []),
        *([f"<SpO2Nadir>{96 - drop}</SpO2Nadir>"] if drop else []),
        *(["<SpO2Baseline>96</SpO2Baseline>"] if drop else []),
        "</ScoredEvent>",
    ]
    return "\n".join(lines)


def _drop(event: SleepEvent) -> int | None:
    """Return how far SpO2 falls in a desaturation, 2 to 7 points: from its time, not by chance."""
    if event.kind is not EventKind.DESATURATION:
        return None
    return 2 + int(6 * ((10 * event.start_s * GOLDEN) % 1))


def _stage_spans(night: SleepNight) -> list[tuple[str, float, float]]:
    spans, start = [], 0
    for stage, run in groupby(night.stages):
        count = len(list(run))
        name, code = _CODES[stage]
        spans.append((f"{name}|{code}", float(EPOCH_S * start), float(EPOCH_S * count)))
        start += count
    return spans


def _profusion_event(event: SleepEvent) -> str:
    drop = _drop(event)
    depth = ""
    if drop:
        depth = f"<LowestSpO2>{96 - drop}</LowestSpO2><Desaturation>{drop}</Desaturation>"
    return (
        f"<ScoredEvent><Name>{_NAMES[event.kind][2]}</Name>{depth}"
        f"<Start>{event.start_s:.1f}</Start>"
        f"<Duration>{event.duration_s:.1f}</Duration><Input/></ScoredEvent>"
    )
