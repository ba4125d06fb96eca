"""Synthetic PAF Prediction set (afpdb 1.0.0): two half hours of one recording of each subject."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth.files import Digitiser, header, pack16
from preprocessing.synth.physiology.noise import NoiseProfile
from preprocessing.synth.physiology.people import Population, Subject, draw_electrode, draw_subject
from preprocessing.synth.physiology.rhythm import whole
from preprocessing.synth.recording import Recording, Setup, SynthDataset, record, rng_for

FS = 128
DURATION_S = 1800.0
LEADS = (("MLII", "V1"), ("MLII", "V1"), ("V5", "V1"), ("V2", "MLII"))
"""The leads of the tapes are unknown; real QRS complexes point up in most, down in some."""

NAMES = ("ECG0", "ECG1")

POPULATION = Population(
    age=(62.0, 14.0),
    rate=(75.0, 13.0),
    qrs_scale=(0.95, 0.24),
    gain=(1.3, 0.5),
    t_mv=(0.17, 0.5),
    axis_deg=(48.0, 22.0),
    t_inverted_share=0.15,
    pac_per_1000=(1.5, 1.3),
    pvc_per_1000=(0.8, 1.6),
)
PATIENTS = replace(POPULATION, pac_per_1000=(10.0, 1.0))
"""The people of the p records, whose fibrillation comes and goes, have many atrial ectopics."""

NOISE = NoiseProfile(wander_mv=0.018, muscle_mv=0.004, mains_mv=0.002, mains_hz=60.0)
ADC = Digitiser(gain=200.0, zero=0, lowest=-2047, highest=2047)


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the records: n01 and n02 are one subject, then p01 and p02, n03 ..."""
    return tuple(
        f"{'np'[index % 2]}{2 * (index // 2) + half:02d}"
        for index in range(settings.afpdb_subjects)
        for half in (1, 2)
    )


def person_of(name: str) -> str:
    """Return the key of the subject that two consecutive numbers share."""
    return f"{name[0]}{(int(name[1:]) + 1) // 2}"


def subject_of(seed: int, name: str) -> Subject:
    """Return the person of a record."""
    rng = rng_for(seed, "afpdb", person_of(name), "subject")
    population = PATIENTS if name[0] == "p" else POPULATION
    return draw_subject(population, rng, male=bool(rng.random() < 0.55))


def make_record(settings: SynthSettings, name: str) -> Recording:
    """Return one record in mV with its beats.

    Both records come from one long tape, so the electrodes are the same.
    """
    tape = rng_for(settings.seed, "afpdb", person_of(name), "tape")
    electrode = draw_electrode(POPULATION, tape)
    setup = Setup(FS, LEADS[int(tape.integers(len(LEADS)))], NOISE)
    rng = rng_for(settings.seed, "afpdb", name)
    subject = subject_of(settings.seed, name)
    return record(subject, whole(DURATION_S), electrode, setup, rng)


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``<name>.dat`` and ``.hea``."""
    root.mkdir(parents=True, exist_ok=True)
    units = ADC.digitise(make_record(settings, name).mv)
    (root / f"{name}.dat").write_bytes(pack16(units))
    text = header(f"{name} 2 {FS} {units.shape[1]}", f"{name}.dat 16 200 16 0", units, NAMES)
    (root / f"{name}.hea").write_text(text, encoding="ascii")


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the list of records."""
    lines = "".join(f"{name}\n" for name in sorted(records(settings)))
    (root / "RECORDS").write_text(lines, encoding="ascii")


AFPDB = SynthDataset("afpdb", records, write_record, write_tables)
