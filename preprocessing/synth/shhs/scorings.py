"""The two XML files beside a synthetic night: NSRR's and Profusion's, as SHHS has them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from preprocessing.synth.physiology.sleep import EPOCH_S, SleepEvent, SleepNight
from storage.schema import EventKind, OldStage

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


def nsrr_xml(night: SleepNight, duration_s: float) -> str:
    """Return the text of ``<name>-nsrr.xml``."""
    events = [
        _nsrr_event("", "Recording Start Time", 0, duration_s, "00.00.00 22.30.00"),
        *(_nsrr_event(*_NAMES[e.kind][:2], e.start_s, e.duration_s) for e in night.events),
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
    kind: str, concept: str, start_s: float, duration_s: float, clock: str | None = None
) -> str:
    lines = [
        "<ScoredEvent>",
        f"<EventType>{kind}</EventType>" if kind else "<EventType/>",
        f"<EventConcept>{concept}</EventConcept>",
        f"<Start>{start_s:.1f}</Start>",
        f"<Duration>{duration_s:.1f}</Duration>",
        *([f"<ClockTime>{clock}</ClockTime>"] if clock else []),
        "</ScoredEvent>",
    ]
    return "\n".join(lines)


def _stage_spans(night: SleepNight) -> list[tuple[str, float, float]]:
    spans, start = [], 0
    for stage, run in groupby(night.stages):
        count = len(list(run))
        name, code = _CODES[stage]
        spans.append((f"{name}|{code}", float(EPOCH_S * start), float(EPOCH_S * count)))
        start += count
    return spans


def _profusion_event(event: SleepEvent) -> str:
    return (
        f"<ScoredEvent><Name>{_NAMES[event.kind][2]}</Name><Start>{event.start_s:.1f}</Start>"
        f"<Duration>{event.duration_s:.1f}</Duration><Input/></ScoredEvent>"
    )
