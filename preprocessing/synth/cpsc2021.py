"""Synthetic CPSC 2021 (cpsc2021 1.0.0): pieces of Holter recordings, some with AF, in two parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from preprocessing.config import SynthSettings
from preprocessing.synth.files import beat_notes, checksum, pack16, write_annotations
from preprocessing.synth.physiology.noise import NoiseProfile
from preprocessing.synth.physiology.people import Population, Subject, draw_electrode, draw_subject
from preprocessing.synth.physiology.rhythm import Bout, Rhythm, Segment, schedule, whole
from preprocessing.synth.physiology.shape import Samples
from preprocessing.synth.recording import Recording, Setup, SynthDataset, even_draw, record, rng_for

FS = 200
LEADS = ("I", "MLII")
NAMES = ("I", "II")
MARGIN = 30
"""Samples (0.15 s) from a mark of rhythm to the beat that it belongs to."""

Note = tuple[int, str, str]


class Diagnosis(StrEnum):
    """What a header's comment says of its record."""

    WITHOUT = "non atrial fibrillation"
    PAROXYSMAL = "paroxysmal atrial fibrillation"
    PERSISTENT = "persistent atrial fibrillation"


_W, _PX, _PS = Diagnosis.WITHOUT, Diagnosis.PAROXYSMAL, Diagnosis.PERSISTENT
PARTS = {
    "Training_set_I": (0, {_W: 42, _PX: 5, _PS: 7}),
    "Training_set_II": (54, {_W: 14, _PX: 18, _PS: 19}),
}
"""First subject of each part, and how many people of each kind it has."""

POPULATION = Population(
    age=(62.0, 14.0),
    rate=(74.0, 10.0),
    qrs_scale=(0.86, 0.13),
    gain=(1.35, 0.35),
    t_mv=(0.2, 0.45),
    axis_deg=(50.0, 22.0),
    t_inverted_share=0.1,
    pac_per_1000=(12.0, 1.3),
    pvc_per_1000=(6.0, 1.5),
)
NOISE = NoiseProfile(wander_mv=0.035, muscle_mv=0.008, mains_mv=0.004, mains_hz=50.0)


@dataclass(frozen=True, slots=True)
class Piece:
    """A record as it is written: samples (leads by samples, mV), its annotations, its header."""

    mv: Samples
    notes: list[Note]
    diagnosis: Diagnosis


def people(settings: SynthSettings) -> tuple[tuple[str, int], ...]:
    """Return (part, subject); the parts take turns until the smaller one is full."""
    sizes = {part: sum(kinds.values()) for part, (_, kinds) in PARTS.items()}
    both = [
        (part, first + index)
        for index in range(max(sizes.values()))
        for part, (first, _) in PARTS.items()
        if index < sizes[part]
    ]
    return tuple(both[: settings.cpsc2021_people])


def n_records(seed: int, subject: int) -> int:
    """Return how many records a person has: two for most, up to six."""
    rng = rng_for(seed, "cpsc2021", str(subject), "records")
    return 2 + int(min(4, rng.geometric(0.5) - 1))


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the records, e.g. ``Training_set_I/data_0_1``."""
    return tuple(
        f"{part}/data_{subject}_{number}"
        for part, subject in people(settings)
        for number in range(1, n_records(settings.seed, subject) + 1)
    )


def kind_of(part: str, subject: int) -> Diagnosis:
    """Return a person's kind: the first three of a part differ, then by its shares."""
    first, counts = PARTS[part]
    index = subject - first
    if index < len(Diagnosis):
        return list(Diagnosis)[index]
    edges = np.cumsum(list(counts.values())) / sum(counts.values())
    return list(counts)[int(np.searchsorted(edges, even_draw(index), side="right"))]


def diagnosis_of(seed: int, name: str) -> Diagnosis:
    """Return what a record shows; paroxysmal AF comes in some records of a person, not in all."""
    part, subject, number = _parse(name)
    kind = kind_of(part, subject)
    if kind is not Diagnosis.PAROXYSMAL or number == 1:
        return kind
    shows = number > 2 and rng_for(seed, "cpsc2021", name, "diagnosis").random() < 0.5
    return kind if shows else Diagnosis.WITHOUT


def subject_of(seed: int, subject: int) -> Subject:
    """Return a person; in AF the ventricles beat about as fast as without, as in the real set."""
    rng = rng_for(seed, "cpsc2021", str(subject), "subject")
    person = draw_subject(POPULATION, rng, male=bool(rng.random() < 0.55))
    return replace(person, afib_rate=float(np.clip(rng.normal(78.0, 13.0), 50.0, 130.0)))


def segments_of(settings: SynthSettings, name: str) -> tuple[Segment, ...]:
    """Return when each rhythm holds in a record."""
    rng = rng_for(settings.seed, "cpsc2021", name, "rhythm")
    duration_s = 60.0 * settings.cpsc2021_minutes * float(rng.uniform(0.65, 1.6))
    match diagnosis_of(settings.seed, name):
        case Diagnosis.WITHOUT:
            return whole(duration_s)
        case Diagnosis.PERSISTENT:
            return whole(duration_s, Rhythm.FIBRILLATION)
    rhythm = Rhythm.FLUTTER if rng.random() < 0.06 else Rhythm.FIBRILLATION
    bout = Bout(rhythm, float(rng.uniform(0.05, 0.7)), int(rng.integers(1, 4)))
    return schedule(duration_s, [bout], rng)


def make_record(settings: SynthSettings, name: str) -> Recording:
    """Return one record in mV with its beats and rhythms.

    A person's records come from one Holter recording, so the electrodes are the same.
    """
    _, subject, _ = _parse(name)
    electrode = draw_electrode(
        POPULATION, rng_for(settings.seed, "cpsc2021", str(subject), "electrode")
    )
    rng = rng_for(settings.seed, "cpsc2021", name)
    person = subject_of(settings.seed, subject)
    setup = Setup(FS, LEADS, NOISE)
    return record(person, segments_of(settings, name), electrode, setup, rng)


def make_piece(settings: SynthSettings, name: str) -> Piece:
    """Return one record as it is written, with marks as the real annotations have them."""
    made = make_record(settings, name)
    diagnosis = diagnosis_of(settings.seed, name)
    beats = beat_notes(made.beats, FS)
    match diagnosis:
        case Diagnosis.WITHOUT:
            return Piece(made.mv, beats, diagnosis)
        case Diagnosis.PERSISTENT:
            return _cut_to_beats(made.mv, beats)
    marks = [mark for segment in made.segments for mark in _marks(segment, made)]
    return Piece(made.mv, sorted(beats + marks, key=lambda note: note[0]), diagnosis)


def _marks(segment: Segment, made: Recording) -> list[Note]:
    """Return the mark before the first beat of an episode, and the one behind its last.

    The second may lie behind the last sample, as in the real files.
    """
    time_s = made.beats.time_s
    inside = time_s[(time_s >= segment.start_s) & (time_s < segment.end_s)]
    if segment.rhythm is Rhythm.SINUS or not inside.size:
        return []
    first, last = round(float(inside[0]) * FS), round(float(inside[-1]) * FS)
    return [
        (max(0, first - MARGIN), "+", f"({segment.rhythm.value}"),
        (last + MARGIN, "+", "(N"),
    ]


def _cut_to_beats(mv: Samples, beats: list[Note]) -> Piece:
    """Return persistent AF: cut just outside its outer beats, marked on its outer samples.

    Its beats carry the note ``None``, an oddity of the real files.
    """
    whole_beats = [beat for beat in beats if MARGIN <= beat[0] <= mv.shape[1] - MARGIN]
    start, stop = whole_beats[0][0] - MARGIN, whole_beats[-1][0] + MARGIN
    shifted = [(sample - start, symbol, "None") for sample, symbol, _ in whole_beats]
    length = stop - start
    opening, closing = (0, "+", f"({Rhythm.FIBRILLATION.value}"), (length - 1, "+", "(N")
    return Piece(mv[:, start:stop], [opening, *shifted, closing], Diagnosis.PERSISTENT)


def digitise(mv: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int16], float, int]:
    """Return one lead in units that fill 16 bits, its gain (units per mV) and its zero."""
    low, high = float(mv.min()), float(mv.max())
    gain = 65534.0 / max(high - low, 1e-6)
    zero = round(-32767.0 - low * gain)
    units = np.rint(mv.astype(np.float64) * gain + zero)
    return np.clip(units, -32767, 32767).astype(np.int16), gain, zero


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``.dat``, ``.hea`` and ``.atr`` of one record into the folder of its part."""
    part, stem = name.split("/")
    folder = root / part
    folder.mkdir(parents=True, exist_ok=True)
    piece = make_piece(settings, name)
    leads = [digitise(row) for row in piece.mv]
    units = np.stack([lead for lead, _, _ in leads])
    (folder / f"{stem}.dat").write_bytes(pack16(units))
    lines = [
        f"{stem}.dat 16 {gain}({zero})/mV 16 0 {row[0]} {checksum(row)} 0 {lead}"
        for lead, (row, gain, zero) in zip(NAMES, leads, strict=True)
    ]
    first = f"{stem} {len(NAMES)} {FS} {units.shape[1]}"
    text = "\n".join([first, *lines, f"# {piece.diagnosis}"]) + "\n"
    (folder / f"{stem}.hea").write_text(text, encoding="ascii")
    write_annotations(folder, stem, *zip(*piece.notes, strict=True))


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the list of records."""
    lines = "".join(f"{name}\n" for name in sorted(records(settings)))
    (root / "RECORDS").write_text(lines, encoding="ascii")


def _parse(name: str) -> tuple[str, int, int]:
    """Return part, subject and number of ``Training_set_I/data_0_1``."""
    part, stem = name.split("/")
    _, subject, number = stem.split("_")
    return part, int(subject), int(number)


CPSC2021 = SynthDataset("cpsc2021", records, write_record, write_tables)
