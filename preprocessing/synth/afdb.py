"""Synthetic MIT-AFIB (afdb 1.0.0): long two-lead recordings with rhythm notes only."""

from __future__ import annotations

from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth.files import Digitiser, header, pack212, rhythm_notes, write_annotations
from preprocessing.synth.physiology.noise import NoiseProfile
from preprocessing.synth.physiology.people import Population, Subject, draw_electrode, draw_subject
from preprocessing.synth.physiology.rhythm import Bout, Rhythm, Segment, schedule, whole
from preprocessing.synth.recording import Recording, Setup, SynthDataset, record, rng_for

FS = 250
LEADS = ("MLII", "V1")
NAMES = ("ECG1", "ECG2")

AFIB = {
    "04043": (0.215, 12), "05121": (0.63, 8), "04126": (0.037, 4), "08455": (0.69, 2),
    "08378": (0.21, 4), "04746": (0.53, 4), "04015": (0.006, 2), "07859": (1.0, 1),
    "04048": (0.010, 2), "08215": (0.81, 2), "05091": (0.004, 1), "06426": (0.954, 8),
    "07910": (0.16, 4), "07879": (0.60, 2), "05261": (0.013, 2), "07162": (1.0, 1),
    "04908": (0.084, 5), "06995": (0.47, 4), "06453": (0.011, 2), "04936": (0.72, 12),
    "08219": (0.216, 10), "08405": (0.72, 2), "08434": (0.039, 2), "00735": (0.007, 1),
    "03665": (0.16, 4),
}  # fmt: skip
"""Share of AFib and number of episodes, close to the real notes. The order is ours: any first few
records together hold about the share of all, and the two without signals come last."""

FLUTTER = {"04936": 0.09, "08378": 0.04, "07910": 0.013, "04908": 0.007}
JUNCTIONAL = {"03665": 0.52, "05121": 0.01}
NO_SIGNALS = frozenset({"00735", "03665"})
SPELLING = {Rhythm.JUNCTIONAL: "J"}

POPULATION = Population(
    age=(66.0, 12.0),
    rate=(72.0, 10.0),
    qrs_scale=(1.05, 0.22),
    gain=(1.2, 0.35),
    t_mv=(0.2, 0.45),
    axis_deg=(50.0, 26.0),
    t_inverted_share=0.15,
    pac_per_1000=(6.0, 1.2),
    pvc_per_1000=(1.5, 1.6),
)
NOISE = NoiseProfile(wander_mv=0.04, muscle_mv=0.010, mains_mv=0.004, mains_hz=60.0)
ADC = Digitiser(gain=200.0, zero=0, lowest=-2047, highest=2047)


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the records; those without signals come last."""
    return tuple(AFIB)[: settings.afdb_records]


def subject_of(seed: int, name: str) -> Subject:
    """Return the person of a record."""
    rng = rng_for(seed, "afdb", name, "subject")
    return draw_subject(POPULATION, rng, male=bool(rng.random() < 0.6))


def segments_of(settings: SynthSettings, name: str) -> tuple[Segment, ...]:
    """Return when each rhythm holds in a record."""
    duration_s = 3600.0 * settings.afdb_hours
    share, episodes = AFIB[name]
    if share == 1.0:
        return whole(duration_s, Rhythm.FIBRILLATION)
    bouts = [Bout(Rhythm.FIBRILLATION, share, episodes)]
    if name in FLUTTER:
        bouts.append(Bout(Rhythm.FLUTTER, FLUTTER[name], 2))
    if name in JUNCTIONAL:
        bouts.append(Bout(Rhythm.JUNCTIONAL, JUNCTIONAL[name], 3))
    return schedule(duration_s, bouts, rng_for(settings.seed, "afdb", name, "rhythm"))


def make_record(settings: SynthSettings, name: str) -> Recording:
    """Return one record in mV with its beats and rhythms."""
    rng = rng_for(settings.seed, "afdb", name)
    subject = subject_of(settings.seed, name)
    electrode = draw_electrode(POPULATION, rng)
    return record(subject, segments_of(settings, name), electrode, Setup(FS, LEADS, NOISE), rng)


def _write_signals(root: Path, settings: SynthSettings, name: str) -> None:
    units = ADC.digitise(make_record(settings, name).mv)
    (root / f"{name}.dat").write_bytes(pack212(units))
    text = header(
        f"{name} 2 {FS} {units.shape[1]}  9:00:00", f"{name}.dat 212 0 12 0", units, NAMES
    )
    (root / f"{name}.hea").write_text(text, encoding="ascii")


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``<name>.hea``, ``.atr`` and, for all but two records, ``.dat``."""
    root.mkdir(parents=True, exist_ok=True)
    if name in NO_SIGNALS:
        (root / f"{name}.hea").write_text(f"{name} 0 {FS} 0\n", encoding="ascii")
    else:
        _write_signals(root, settings, name)
    notes = rhythm_notes(segments_of(settings, name), FS, SPELLING)
    write_annotations(root, name, *zip(*notes, strict=True))


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the list of records, in the order of their numbers."""
    lines = "".join(f"{name}\n" for name in sorted(records(settings)))
    (root / "RECORDS").write_text(lines, encoding="ascii")


AFDB = SynthDataset("afdb", records, write_record, write_tables)
