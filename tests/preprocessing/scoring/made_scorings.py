"""Scorings for tests, in the formats of NSRR and Profusion."""

from __future__ import annotations

from pathlib import Path

NSRR_EVENTS = (
    ("Respiratory|Respiratory", "Obstructive apnea|Obstructive Apnea", 61.5, 14.0),
    ("Respiratory|Respiratory", "SpO2 desaturation|SpO2 desaturation", 75, 20),
    ("Arousals|Arousals", "ASDA arousal|Arousal (ASDA)", 75.5, 5),
)
PROFUSION_EVENTS = (
    ("Obstructive Apnea", 61.5, 14.0),
    ("SpO2 desaturation", 75, 20),
    ("Arousal (ASDA)", 75.5, 5),
)
STAGES = (("Wake|0", 0, 60), ("Stage 2 sleep|2", 60, 60), ("Stage 4 sleep|4", 120, 60))
EPOCHS = (0, 0, 2, 2, 4, 4)


def nsrr(
    stages: tuple[tuple[str, float, float], ...] = STAGES,
    events: tuple[tuple[str, str, float, float], ...] = NSRR_EVENTS,
    *,
    head: str = '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
) -> str:
    """Return NSRR's XML: 180 s of wake, stage 2 and stage 4 unless told otherwise."""
    rows = [("", "Recording Start Time", 0, 180), *events]
    rows += [("Stages|Stages", name, start, length) for name, start, length in stages]
    written = "".join(
        f"<ScoredEvent><EventType>{kind}</EventType><EventConcept>{concept}</EventConcept>"
        f"<Start>{start}</Start><Duration>{length}</Duration>"
        + ("<ClockTime>00.00.00 22.30.00</ClockTime>" if not kind else "")
        + "</ScoredEvent>\n"
        for kind, concept, start, length in rows
    )
    return (
        f"{head}<PSGAnnotation><SoftwareVersion>Compumedics</SoftwareVersion>"
        f"<EpochLength>30</EpochLength><ScoredEvents>{written}</ScoredEvents></PSGAnnotation>"
    )


def profusion(
    epochs: tuple[int | str, ...] = EPOCHS,
    events: tuple[tuple[str, float, float], ...] = PROFUSION_EVENTS,
    *,
    epoch_s: str = "30",
) -> str:
    """Return Profusion's XML of the same night."""
    scored = "".join(
        f"<ScoredEvent><Name>{name}</Name><Start>{start}</Start><Duration>{length}</Duration>"
        "<Input>ECG</Input></ScoredEvent>"
        for name, start, length in events
    )
    stages = "".join(f"<SleepStage>{code}</SleepStage>" for code in epochs)
    return (
        f"<CMPStudyConfig><EpochLength>{epoch_s}</EpochLength><ScoredEvents>{scored}"
        f"</ScoredEvents><SleepStages>{stages}</SleepStages></CMPStudyConfig>"
    )


def written(folder: Path, text: str | bytes, name: str = "scoring.xml") -> Path:
    """Write a text and return its path."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
