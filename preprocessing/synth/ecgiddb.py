"""Synthetic ECG-ID (ecgiddb 1.0.0): sessions of 20 s, raw and filtered, with age and sex."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import signal

from preprocessing.config import SynthSettings
from preprocessing.synth.files import Digitiser, header, pack16, write_annotations
from preprocessing.synth.physiology.noise import NoiseProfile
from preprocessing.synth.physiology.people import Population, Subject, draw_electrode, draw_subject
from preprocessing.synth.physiology.rhythm import whole
from preprocessing.synth.physiology.shape import Samples
from preprocessing.synth.recording import Recording, Setup, SynthDataset, even_draw, record, rng_for

FS = 500
DURATION_S = 20.0
NAMES = ("ECG I", "ECG I filtered")
ANNOTATED_BEATS = 10

POPULATION = Population(
    age=(29.0, 12.0),
    rate=(78.0, 11.0),
    qrs_scale=(0.95, 0.10),
    gain=(1.3, 0.2),
    t_mv=(0.22, 0.3),
    axis_deg=(32.0, 17.0),
    t_inverted_share=0.0,
    pac_per_1000=(0.2, 1.0),
    pvc_per_1000=(0.2, 1.0),
    block_share=0.0,
    age_range=(13.0, 75.0),
)
NOISE = NoiseProfile(wander_mv=0.038, muscle_mv=0.011, mains_mv=0.05, mains_hz=50.0, lead_off=0.0)
ADC = Digitiser(gain=200.0, zero=0, lowest=-2048, highest=2047)


def sessions(seed: int, person: str) -> int:
    """Return how many sessions a person has: two for most, up to eight."""
    rng = rng_for(seed, "ecgiddb", person, "sessions")
    return 2 + int(min(6, rng.geometric(0.5) - 1))


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the records, e.g. ``Person_01/rec_1``."""
    people = [f"Person_{number:02d}" for number in range(1, settings.ecgiddb_people + 1)]
    return tuple(
        f"{person}/rec_{session}"
        for person in people
        for session in range(1, sessions(settings.seed, person) + 1)
    )


def subject_of(seed: int, person: str) -> Subject:
    """Return a person; men and women are about equally many in any number of people."""
    rng = rng_for(seed, "ecgiddb", person, "subject")
    return draw_subject(POPULATION, rng, male=even_draw(int(person[-2:])) < 0.49)


def make_record(settings: SynthSettings, name: str) -> Recording:
    """Return one session in mV with its beats; signal 0 alone."""
    rng = rng_for(settings.seed, "ecgiddb", name)
    subject = subject_of(settings.seed, name.split("/")[0])
    electrode = draw_electrode(POPULATION, rng)
    return record(subject, whole(DURATION_S), electrode, Setup(FS, ("I",), NOISE), rng)


def cleaned(mv: Samples) -> Samples:
    """Return what the data set calls filtered: without wander, hum and high frequencies."""
    band = signal.butter(2, [0.5, 40.0], "band", fs=FS, output="sos")
    return np.ascontiguousarray(signal.sosfiltfilt(band, mv, axis=1), dtype=np.float32)


def _date(name: str, seed: int) -> str:
    """Return the day of a session; the first two are on one day, later ones weeks apart."""
    person, session = name.split("/rec_")
    weeks = int(rng_for(seed, "ecgiddb", person, "date").integers(0, 12))
    day = np.datetime64("2004-12-07") + np.timedelta64(7 * (weeks + max(int(session) - 2, 0)), "D")
    year, month, of_month = str(day).split("-")
    return f"{of_month}.{month}.{year}"


def _peaks(made: Recording, subject: Subject) -> list[tuple[int, str, str]]:
    """Return R and T peaks of the first ten whole beats."""
    inside = (made.beats.time_s > 0.5) & (made.beats.time_s < DURATION_S - 1.0)
    r_s = made.beats.time_s[inside]
    t_s = r_s + (subject.qt_s - 0.12) * np.cbrt(made.beats.rr_s[inside])
    pairs = zip(r_s[:ANNOTATED_BEATS].tolist(), t_s.tolist(), strict=False)
    return [note for r, t in pairs for note in ((round(r * FS), "N", ""), (round(t * FS), "t", ""))]


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``.dat``, ``.hea`` and ``.atr`` of one session into its person's folder."""
    person, stem = name.split("/")
    folder = root / person
    folder.mkdir(parents=True, exist_ok=True)
    made = make_record(settings, name)
    subject = subject_of(settings.seed, person)
    units = ADC.digitise(np.concatenate([made.mv, cleaned(made.mv)]))
    (folder / f"{stem}.dat").write_bytes(pack16(units))
    about = f"# Age: {int(subject.age)}\n# Sex: {subject.sex.value}\n"
    tail = f"\n{about}# ECG date: {_date(name, settings.seed)}\n"
    first = f"{stem} 2 {FS} {units.shape[1]}"
    text = header(first, f"{stem}.dat 16 200 12 0", units, NAMES, tail)
    (folder / f"{stem}.hea").write_text(text, encoding="ascii")
    write_annotations(folder, stem, *zip(*_peaks(made, subject), strict=True))


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the list of records."""
    lines = "".join(f"{name}\n" for name in records(settings))
    (root / "RECORDS").write_text(lines, encoding="ascii")


ECGIDDB = SynthDataset("ecgiddb", records, write_record, write_tables)
