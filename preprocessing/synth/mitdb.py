"""Synthetic MIT-ARR (mitdb 1.0.0): 48 half hours of two leads with beat and rhythm notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from preprocessing.config import SynthSettings
from preprocessing.synth.files import (
    Digitiser,
    beat_notes,
    header,
    pack212,
    rhythm_notes,
    write_annotations,
)
from preprocessing.synth.physiology.noise import NoiseProfile
from preprocessing.synth.physiology.people import (
    Conduction,
    Population,
    Subject,
    draw_electrode,
    draw_subject,
)
from preprocessing.synth.physiology.rhythm import Bout, Rhythm, Segment, schedule
from preprocessing.synth.recording import Recording, Setup, SynthDataset, record, rng_for
from storage.schema import Sex

FS = 360
AFIB_RECORDS = ("201", "202", "203", "210", "217", "219", "221", "222")
ODD_LEADS = ("114", "102")
"""Leads swapped, no MLII: written next, so that a small cohort holds these traps too."""

OTHERS = tuple(
    str(number)
    for first, last in ((100, 109), (111, 119), (121, 124), (200, 203), (205, 205), (207, 210),
                        (212, 215), (217, 217), (219, 223), (228, 228), (230, 234))
    for number in range(first, last + 1)
    if str(number) not in AFIB_RECORDS + ODD_LEADS
)  # fmt: skip

LEADS = {
    "100": ("MLII", "V5"),
    "102": ("V5", "V2"),
    "103": ("MLII", "V2"),
    "104": ("V5", "V2"),
    "114": ("V5", "MLII"),
    "117": ("MLII", "V2"),
    "123": ("MLII", "V5"),
    "124": ("MLII", "V4"),
}
"""Leads of the records that do not have MLII and V1."""

_AF, _AFL = Rhythm.FIBRILLATION, Rhythm.FLUTTER
BOUTS: dict[str, tuple[Bout, ...]] = {
    "201": (Bout(_AF, 0.34, 3), Bout(Rhythm.TRIGEMINY, 0.20, 8)),
    "202": (Bout(_AF, 0.33, 4), Bout(_AFL, 0.03, 1)),
    "203": (Bout(_AF, 0.80, 8), Bout(_AFL, 0.10, 2)),
    "210": (Bout(_AF, 0.90, 6), Bout(Rhythm.BIGEMINY, 0.02, 3)),
    "217": (Bout(_AF, 0.14, 8), Bout(Rhythm.PACED, 0.65, 9)),
    "219": (Bout(_AF, 0.79, 8),),
    "221": (Bout(_AF, 0.90, 8), Bout(Rhythm.TRIGEMINY, 0.02, 4)),
    "222": (Bout(_AF, 0.06, 4), Bout(_AFL, 0.20, 10), Bout(Rhythm.JUNCTIONAL, 0.12, 8)),
    "102": (Bout(Rhythm.PACED, 0.95, 2),),
    "104": (Bout(Rhythm.PACED, 0.70, 12),),
    "107": (Bout(Rhythm.PACED, 0.98, 1),),
    "106": (Bout(Rhythm.BIGEMINY, 0.25, 8),),
    "119": (Bout(Rhythm.BIGEMINY, 0.15, 5), Bout(Rhythm.TRIGEMINY, 0.10, 3)),
    "200": (Bout(Rhythm.BIGEMINY, 0.35, 12),),
    "223": (Bout(Rhythm.BIGEMINY, 0.10, 5),),
}
"""Rhythms other than sinus, at about the shares of the real notes. Unlike the real ones, every AFib
record keeps some sinus rhythm."""

LEFT_BLOCK = frozenset({"109", "111", "207", "214"})
RIGHT_BLOCK = frozenset({"118", "124", "212", "231", "232"})
SAME_PERSON = {"202": "201"}

POPULATION = Population(
    age=(64.0, 17.0),
    rate=(72.0, 12.0),
    qrs_scale=(1.04, 0.2),
    gain=(1.15, 0.3),
    t_mv=(0.2, 0.5),
    axis_deg=(50.0, 28.0),
    t_inverted_share=0.2,
    pac_per_1000=(3.0, 1.6),
    pvc_per_1000=(6.0, 1.6),
    block_share=0.0,
)
NOISE = NoiseProfile(wander_mv=0.038, muscle_mv=0.009, mains_mv=0.004, mains_hz=60.0)
ADC = Digitiser(gain=200.0, zero=1024, lowest=0, highest=2047)


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the records, those with AFib first."""
    return (*AFIB_RECORDS, *ODD_LEADS, *OTHERS)[: settings.mitdb_records]


def subject_of(seed: int, name: str) -> Subject:
    """Return the person of a record; 201 and 202 are one."""
    person = SAME_PERSON.get(name, name)
    rng = rng_for(seed, "mitdb", person, "subject")
    subject = draw_subject(POPULATION, rng, male=bool(rng.random() < 0.54))
    if name in LEFT_BLOCK:
        return replace(subject, conduction=Conduction.LEFT_BLOCK)
    if name in RIGHT_BLOCK:
        return replace(subject, conduction=Conduction.RIGHT_BLOCK)
    return subject


def segments_of(settings: SynthSettings, name: str) -> tuple[Segment, ...]:
    """Return when each rhythm holds in a record."""
    rng = rng_for(settings.seed, "mitdb", name, "rhythm")
    return schedule(60.0 * settings.mitdb_minutes, BOUTS.get(name, ()), rng)


def make_record(settings: SynthSettings, name: str) -> Recording:
    """Return one record in mV with its beats and rhythms."""
    rng = rng_for(settings.seed, "mitdb", name)
    setup = Setup(FS, LEADS.get(name, ("MLII", "V1")), NOISE)
    subject = subject_of(settings.seed, name)
    electrode = draw_electrode(POPULATION, rng)
    return record(subject, segments_of(settings, name), electrode, setup, rng)


def _comments(name: str, subject: Subject, rng: np.random.Generator) -> str:
    """Return age, sex, tape numbers and drugs; the age of 219 is unknown."""
    age = -1 if name == "219" else int(subject.age)
    sex = "M" if subject.sex is Sex.MALE else "F"
    tape = f"{rng.integers(700, 2900)} {rng.integers(160, 2900)} x{rng.integers(1, 3)}"
    return f"# {age} {sex} {tape}\n# None\n"


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``<name>.dat``, ``.hea`` and ``.atr``."""
    root.mkdir(parents=True, exist_ok=True)
    made = make_record(settings, name)
    subject = subject_of(settings.seed, name)
    units = ADC.digitise(made.mv)
    (root / f"{name}.dat").write_bytes(pack212(units))
    tail = _comments(name, subject, rng_for(settings.seed, "mitdb", name, "header"))
    first = f"{name} 2 {FS} {units.shape[1]}"
    names = LEADS.get(name, ("MLII", "V1"))
    text = header(first, f"{name}.dat 212 200 11 1024", units, names, tail)
    (root / f"{name}.hea").write_text(text, encoding="ascii")
    normal = {Conduction.LEFT_BLOCK: "L", Conduction.RIGHT_BLOCK: "R"}.get(subject.conduction, "N")
    rhythms = [(x, s, f"{note}\0") for x, s, note in rhythm_notes(made.segments, FS)]
    notes = sorted(rhythms + beat_notes(made.beats, FS, normal), key=lambda note: note[0])
    write_annotations(root, name, *zip(*notes, strict=True))


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the list of records."""
    lines = "".join(f"{name}\n" for name in sorted(records(settings)))
    (root / "RECORDS").write_text(lines, encoding="ascii")


MITDB = SynthDataset("mitdb", records, write_record, write_tables)
