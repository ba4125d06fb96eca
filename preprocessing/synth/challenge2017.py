"""Synthetic Challenge 2017: short single-lead recordings from a hand-held device, four classes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from preprocessing.config import SynthSettings
from preprocessing.synth.files import Digitiser, write_val
from preprocessing.synth.physiology.noise import NoiseProfile
from preprocessing.synth.physiology.people import (
    Conduction,
    Population,
    Subject,
    draw_electrode,
    draw_subject,
)
from preprocessing.synth.physiology.rhythm import Bout, Rhythm, Segment, schedule, whole
from preprocessing.synth.recording import Recording, Setup, SynthDataset, even_draw, record, rng_for

FS = 300
SHARES = {"N": 0.60, "A": 0.09, "O": 0.28, "~": 0.03}
VALIDATION_EVERY = 6
INVERTED_SHARE = 0.12
"""The device is often held the other way round."""

POPULATION = Population(
    age=(55.0, 16.0),
    rate=(72.0, 10.0),
    qrs_scale=(1.0, 0.15),
    gain=(1.1, 0.35),
    axis_deg=(28.0, 20.0),
    pac_per_1000=(0.6, 1.0),
    pvc_per_1000=(0.4, 1.0),
    block_share=0.02,
)
NOISE = NoiseProfile(
    wander_mv=0.062, muscle_mv=0.006, mains_mv=0.001, mains_hz=60.0, motions=120.0, lead_off=1.0,
    lead_off_s=3.0,
)  # fmt: skip
NOISY = replace(NOISE, wander_mv=0.3, muscle_mv=0.08, motions=1500.0, motion_mv=1.0, bursts=200.0)
ADC = Digitiser(gain=1000.0, zero=0, lowest=-5000, highest=5000)


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the training records, e.g. ``A00001``."""
    return tuple(f"A{number:05d}" for number in range(1, settings.challenge2017_records + 1))


def label_of(name: str) -> str:
    """Return the class of a record; any run of records holds the classes at their shares."""
    edges = np.cumsum(list(SHARES.values()))
    return list(SHARES)[int(np.searchsorted(edges, even_draw(int(name[1:])), side="right"))]


def is_validation(name: str) -> bool:
    """Return whether a training record is in the validation folder too."""
    return int(name[1:]) % VALIDATION_EVERY == 1


def _duration(rng: np.random.Generator) -> float:
    """Return 30 s for two of three records, else 9 to 61 s, as in the real set."""
    if rng.random() < 0.68:
        return 30.0
    if rng.random() < 0.4:
        return float(np.round(rng.uniform(59.0, 61.0), 2))
    return float(np.round(rng.uniform(9.0, 58.0), 2))


def _other(subject: Subject, rng: np.random.Generator) -> Subject:
    """Return a person whose rhythm is neither normal nor AFib: block, ectopics, slow or fast."""
    choices = [
        replace(subject, pac_share=float(rng.uniform(0.08, 0.2))),
        replace(subject, pvc_share=float(rng.uniform(0.06, 0.2))),
        replace(subject, conduction=Conduction.LEFT_BLOCK),
        replace(subject, conduction=Conduction.RIGHT_BLOCK),
        replace(subject, rate=float(rng.uniform(42.0, 52.0))),
        replace(subject, rate=float(rng.uniform(105.0, 150.0))),
        replace(subject, pr_s=float(rng.uniform(0.23, 0.3))),
    ]
    return choices[int(rng.integers(len(choices)))]


def _scene(label: str, seed: int, name: str) -> tuple[Subject, tuple[Segment, ...]]:
    """Return the person and the rhythms of a record of one class."""
    rng = rng_for(seed, "challenge2017", name, "scene")
    subject = draw_subject(POPULATION, rng, male=bool(rng.random() < 0.55))
    duration_s = _duration(rng)
    if label == "A":
        partly = rng.random() < 0.15
        bout = Bout(Rhythm.FIBRILLATION, float(rng.uniform(0.4, 0.7)), 1)
        af = schedule(duration_s, [bout], rng) if partly else whole(duration_s, Rhythm.FIBRILLATION)
        return subject, af
    if label == "O":
        subject = _other(subject, rng)
        if rng.random() < 0.2:
            odd = [Rhythm.FLUTTER, Rhythm.BIGEMINY, Rhythm.TRIGEMINY, Rhythm.JUNCTIONAL]
            return subject, whole(duration_s, odd[int(rng.integers(len(odd)))])
    return subject, whole(duration_s)


def make_record(settings: SynthSettings, name: str) -> Recording:
    """Return one record in mV with its beats and rhythms."""
    label = label_of(name)
    subject, segments = _scene(label, settings.seed, name)
    rng = rng_for(settings.seed, "challenge2017", name)
    electrode = draw_electrode(POPULATION, rng, inverted=bool(rng.random() < INVERTED_SHARE))
    setup = Setup(FS, ("I",), NOISY if label == "~" else NOISE, band_hz=(0.5, 40.0))
    return record(subject, segments, electrode, setup, rng)


def _header(name: str, first: int, samples: int, rng: np.random.Generator) -> str:
    """Return a header whose month repeats the minute, an oddity of the real ones."""
    hour, minute, second = rng.integers(1, 13), rng.integers(1, 13), rng.integers(0, 60)
    when = f"{hour:02d}:{minute:02d}:{second:02d} 1/{minute:02d}/2000"
    signal_line = f"{name}.mat 16+24 1000/mV 16 0 {first} 0 0 ECG "
    return f"{name} 1 {FS} {samples} {when} \n{signal_line}\n"


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``training/A00/A00001.mat`` and ``.hea``, and copies if it is for validation."""
    folder = root / "training" / name[:3]
    folder.mkdir(parents=True, exist_ok=True)
    units = ADC.digitise(make_record(settings, name).mv)[0]
    write_val(folder / f"{name}.mat", units)
    rng = rng_for(settings.seed, "challenge2017", name, "header")
    text = _header(name, int(units[0]), len(units), rng)
    (folder / f"{name}.hea").write_text(text, encoding="ascii")
    if is_validation(name):
        (root / "validation").mkdir(exist_ok=True)
        for suffix in (".mat", ".hea"):
            shutil.copyfile(folder / f"{name}{suffix}", root / "validation" / f"{name}{suffix}")


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the labels; the training keys name the sub-folder, the validation keys do not."""
    names = records(settings)
    train = "".join(f"{name[:3]}/{name},{label_of(name)}\n" for name in names)
    valid = "".join(f"{name},{label_of(name)}\n" for name in names if is_validation(name))
    (root / "training" / "REFERENCE-v3.csv").write_text(train, encoding="ascii")
    (root / "validation" / "REFERENCE-v3.csv").write_text(valid, encoding="ascii")


CHALLENGE2017 = SynthDataset("challenge2017", records, write_record, write_tables)
