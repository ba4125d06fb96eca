"""A night's sleep: stages in cycles, breathing events and arousals, and what they do to the heart.

Shares of the stages follow the Sleep Heart Health Study: of the sleep time 4.6 % (median) stage 1,
55.6 % (mean) stage 2, 17.9 % (median) stages 3 and 4 and 20.7 % (mean) REM in its 1,791 people of
the ARIC cohort (JAMA Network Open 2023, PMC10354680, table 1), and 79.5 % (mean) of the time in
bed asleep in 2,363 people (Chronobiology in Medicine 2023; 5(2), table 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from preprocessing.synth.physiology.people import Course, Subject
from storage.schema import EventKind, OldStage

FloatArray = npt.NDArray[np.float64]

EPOCH_S = 30
_CYCLES = 5
_EPOCHS_OF_A_CYCLE = 16
"""A shorter night has fewer cycles, and each is a cycle in small."""

_LATENCY_SHARE = 0.05
_RATE_OF_STAGE = {
    OldStage.WAKE: 1.07, OldStage.S1: 1.01, OldStage.S2: 0.98, OldStage.S3: 0.96,
    OldStage.S4: 0.95, OldStage.REM: 1.03,
}  # fmt: skip
"""Heart rate against the course without stages."""

_BREATH_DURING = {
    EventKind.OBSTRUCTIVE_APNEA: 0.5,  # the chest moves against a closed airway
    EventKind.CENTRAL_APNEA: 0.05,
    EventKind.MIXED_APNEA: 0.25,
    EventKind.HYPOPNEA: 0.55,
}
_RISE_AFTER = {
    EventKind.OBSTRUCTIVE_APNEA: 0.22,
    EventKind.CENTRAL_APNEA: 0.16,
    EventKind.MIXED_APNEA: 0.22,
    EventKind.HYPOPNEA: 0.14,
    EventKind.AROUSAL: 0.10,
}
"""Highest relative rise of the heart rate after an event's end, for an arousal after its start."""

_KINDS = {
    EventKind.HYPOPNEA: 0.72,
    EventKind.OBSTRUCTIVE_APNEA: 0.2,
    EventKind.CENTRAL_APNEA: 0.05,
    EventKind.MIXED_APNEA: 0.03,
}
"""Share of each kind among the breathing events."""


@dataclass(frozen=True, slots=True)
class SleepEvent:
    """An event of the night, in seconds from its start."""

    kind: EventKind
    start_s: float
    duration_s: float

    @property
    def end_s(self) -> float:
        """Return when it ends."""
        return self.start_s + self.duration_s


@dataclass(frozen=True, slots=True)
class SleepNight:
    """Stages, one for each whole epoch of 30 s, and events in order of time."""

    stages: tuple[OldStage, ...]
    events: tuple[SleepEvent, ...]

    @property
    def sleep_s(self) -> float:
        """Return the seconds asleep."""
        return float(EPOCH_S * sum(stage is not OldStage.WAKE for stage in self.stages))


def draw_sleep(duration_s: float, ahi: float, rng: np.random.Generator) -> SleepNight:
    """Return a night with about ``ahi`` apneas and hypopneas for each hour of sleep."""
    hypnogram, breathing, rest = rng.spawn(3)
    stages = draw_stages(int(duration_s // EPOCH_S), hypnogram)
    events = _breathing_events(stages, ahi, breathing)
    events += _consequences(events, duration_s, rest) + _lone_arousals(stages, rest)
    return SleepNight(stages, tuple(sorted(events, key=lambda event: event.start_s)))


def draw_stages(n_epochs: int, rng: np.random.Generator) -> tuple[OldStage, ...]:
    """Return the hypnogram: a while awake, then cycles, less deep and with more REM each time."""
    latency = round(n_epochs * _LATENCY_SHARE * rng.uniform(0.6, 1.6))
    n_cycles = int(np.clip(n_epochs // _EPOCHS_OF_A_CYCLE, 1, _CYCLES))
    stages = [OldStage.WAKE] * latency
    for cycle in range(n_cycles):
        end = latency + round((n_epochs - latency) * (cycle + 1) / n_cycles)
        progress = cycle / max(n_cycles - 1, 1) if n_cycles > 1 else 0.5
        stages += _cycle(max(end - len(stages), 0), progress, rng)
    return tuple(stages[:n_epochs])


def _cycle(n_epochs: int, progress: float, rng: np.random.Generator) -> list[OldStage]:
    """Return one cycle; ``progress`` is 0 in the first of the night and 1 in the last."""
    parts = {
        "S1": 0.045, "before": 0.24, "S3": 0.13 - 0.08 * progress, "S4": 0.11 - 0.10 * progress,
        "after": 0.20, "turn": 0.05, "rem": 0.09 + 0.15 * progress, "awake": 0.09,
    }  # fmt: skip
    order = {
        "S1": OldStage.S1, "before": OldStage.S2, "S3": OldStage.S3, "S4": OldStage.S4,
        "turn": OldStage.WAKE, "after": OldStage.S2, "rem": OldStage.REM, "awake": OldStage.WAKE,
    }  # fmt: skip
    sizes = np.array([parts[name] for name in order]) * np.exp(0.25 * rng.standard_normal(8))
    edges = np.rint(np.cumsum(sizes) / sizes.sum() * n_epochs).astype(int)
    counts = np.diff(edges, prepend=0).tolist()
    return [
        stage for stage, count in zip(order.values(), counts, strict=True) for _ in range(count)
    ]


def _breathing_events(
    stages: tuple[OldStage, ...], ahi: float, rng: np.random.Generator
) -> list[SleepEvent]:
    """Return apneas and hypopneas; fewer in deep sleep, more in REM, none awake."""
    weight = {OldStage.WAKE: 0.0, OldStage.S3: 0.4, OldStage.S4: 0.3, OldStage.REM: 1.4}
    kinds, shares = list(_KINDS), list(_KINDS.values())
    events: list[SleepEvent] = []
    free_s = 0.0
    for k, stage in enumerate(stages):
        rate = ahi * EPOCH_S / 3600.0 * weight.get(stage, 1.0)
        for offset in np.sort(rng.uniform(0.0, EPOCH_S, int(rng.poisson(rate)))).tolist():
            start_s = max(EPOCH_S * k + offset, free_s)
            duration_s = float(np.clip(10.0 + rng.gamma(2.0, 5.0), 10.0, 60.0))
            if start_s + duration_s + 20.0 > EPOCH_S * len(stages):
                continue
            kind = kinds[int(rng.choice(len(kinds), p=shares))]
            events.append(_rounded(kind, start_s, duration_s))
            free_s = start_s + duration_s + 15.0
    return events


def _consequences(
    events: list[SleepEvent], duration_s: float, rng: np.random.Generator
) -> list[SleepEvent]:
    """Return the desaturation and the arousal that follow most breathing events."""
    followers = []
    for event in events:
        desaturated, aroused = rng.random(2) < (0.8, 0.5)
        length_s, arousal_s = rng.uniform(15.0, 40.0), rng.uniform(3.0, 10.0)
        if desaturated and event.start_s + 12.0 + length_s < duration_s:
            followers.append(_rounded(EventKind.DESATURATION, event.start_s + 12.0, length_s))
        if aroused:
            followers.append(_rounded(EventKind.AROUSAL, event.end_s, arousal_s))
    return followers


def _lone_arousals(stages: tuple[OldStage, ...], rng: np.random.Generator) -> list[SleepEvent]:
    asleep = [k for k, stage in enumerate(stages[:-1]) if stage is not OldStage.WAKE]
    chosen = [k for k in asleep if rng.random() < 9.0 * EPOCH_S / 3600.0]
    return [
        _rounded(EventKind.AROUSAL, EPOCH_S * k + rng.uniform(0, 20), rng.uniform(3, 10))
        for k in chosen
    ]


def _rounded(kind: EventKind, start_s: float, duration_s: float) -> SleepEvent:
    return SleepEvent(kind, round(float(start_s), 1), round(float(duration_s), 1))


def with_sleep(course: Course, subject: Subject, night: SleepNight) -> Course:
    """Return the course with what the night does to it: heart rate and breathing.

    The breath is shallow or absent during an event and deep after it, and with it the changes of
    rate, axis and gain that follow each breath. The heart slows a little during an event and is
    faster for some seconds after it; awake and in REM it is faster than in deep sleep.
    """
    breath = course.breath * _breath_factor(course.time_s, night)
    change = breath - course.breath
    rate = course.rate * (1.0 + subject.rsa * change)
    rate = rate * _stage_factor(course.time_s, night) * _event_factor(course.time_s, night)
    return replace(
        course,
        breath=breath,
        rate=np.clip(rate, 35.0, 190.0),
        axis=course.axis + np.deg2rad(3.0) * change,
        gain=course.gain + 0.035 * change,
    )


def _stage_factor(time_s: FloatArray, night: SleepNight) -> FloatArray:
    if not night.stages:
        return np.ones_like(time_s)
    factors = np.array([_RATE_OF_STAGE[stage] for stage in night.stages])
    centres = EPOCH_S * (np.arange(len(factors)) + 0.5)
    return np.interp(time_s, centres, factors)


def _event_factor(time_s: FloatArray, night: SleepNight) -> FloatArray:
    factor = np.ones_like(time_s)
    for event in night.events:
        rise = _RISE_AFTER.get(event.kind)
        if rise is None:
            continue
        is_arousal = event.kind is EventKind.AROUSAL
        if not is_arousal:
            during = _between(time_s, event.start_s, event.end_s)
            factor[during] -= 0.06 * (time_s[during] - event.start_s) / event.duration_s
        peak_s = event.start_s if is_arousal else event.end_s
        after = _between(time_s, peak_s, peak_s + 45.0)
        since = time_s[after] - peak_s
        factor[after] += rise * np.minimum(since / 3.0, 1.0) * np.exp(-since / 14.0)
    return factor


def _breath_factor(time_s: FloatArray, night: SleepNight) -> FloatArray:
    factor = np.ones_like(time_s)
    for event in night.events:
        if (depth := _BREATH_DURING.get(event.kind)) is not None:
            factor[_between(time_s, event.start_s, event.end_s)] = depth
            factor[_between(time_s, event.end_s, event.end_s + 12.0)] = 1.5
    return factor


def _between(time_s: FloatArray, start_s: float, end_s: float) -> slice:
    first, last = np.searchsorted(time_s, (start_s, end_s))
    return slice(int(first), int(last))
