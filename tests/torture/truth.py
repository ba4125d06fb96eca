"""Cohorts whose every window, label, stage, person and visit is known before any reader sees them.

A draw chooses formats, rates, names and the style of the tables. The files are written here byte by
byte, or by libraries that the program does not read them with; the published index is compared
with what was planted, not with another run.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import edfio
import numpy as np
from numpy.typing import NDArray

from storage.window_store import WindowStore
from tests.flows.inline import ask, run, settings_for
from tests.torture import planted
from tests.torture.child import BrokenError, forked

Floats = NDArray[np.float64]

FS = 100
WINDOW_S = 10
NEAR_S = 0.004
"""How far a peak, found between samples, may be from a planted beat."""


_NAMES = ("a", "night 1", "Ärger", "é1", "x.y", "R-07", "sub/one", "sub/deep er/two", "UPPER")


@dataclass
class Known:
    """What is planted in one recording."""

    file: str
    """Path below the data set's root, as the index names the recording."""
    fs: float
    duration_s: float
    beats_s: Floats
    subject: str = ""
    visit: int = 1
    sex: str | None = None
    age: float | None = None
    flat: frozenset[int] = frozenset()
    clipped: frozenset[int] = frozenset()
    nonfinite: frozenset[int] = frozenset()
    rhythms: list[tuple[float, str]] = field(default_factory=list)
    stages: list[tuple[float, float, str]] = field(default_factory=list)

    @property
    def n_windows(self) -> int:
        return int(self.duration_s // WINDOW_S)

    def rhythm_of(self, window: int) -> tuple[str, float] | None:
        """Return the rhythm that covers most of a window, and its share."""
        start, end = window * WINDOW_S, (window + 1) * WINDOW_S
        cover: dict[str | None, float] = {}
        spans = [(0.0, None), *self.rhythms, (np.inf, None)]
        for (at, name), (until, _) in pairwise(spans):
            cover[name] = cover.get(name, 0.0) + max(0.0, min(end, until) - max(start, at))
        name = max(cover, key=lambda each: cover[each])
        return None if name is None else (name, cover[name] / WINDOW_S)


def signal_of(known: Known, rng: np.random.Generator) -> Floats:
    """Return millivolts: narrow beats at the planted times, and the planted faults."""
    t = np.arange(round(known.duration_s * known.fs)) / known.fs
    signal = rng.normal(scale=0.01, size=t.size)
    for beat in known.beats_s:
        near = slice(*np.searchsorted(t, (beat - 0.2, beat + 0.2)))
        signal[near] += np.exp(-(((t[near] - beat) / 0.02) ** 2))
    for window in known.flat:
        at = slice(*np.searchsorted(t, (window * WINDOW_S + 2, window * WINDOW_S + 8)))
        signal[at] = 0.25
    for window in known.clipped:
        at = slice(*np.searchsorted(t, (window * WINDOW_S + 1, window * WINDOW_S + 9)))
        wave = 4 * np.sin(2 * np.pi * 1.1 * t[at])
        signal[at] = np.clip(wave + signal[at], -2.0, 2.0)
    return signal


def any_known(rng: np.random.Generator, file: str, fs: float) -> Known:
    """Return a recording with beats of its own and, sometimes, a flat or clipped window."""
    duration = float(rng.integers(45, 80))
    gaps = rng.uniform(0.55, 1.1, size=200)
    beats = 0.4 + np.cumsum(gaps)
    known = Known(file, fs, duration, beats[beats < duration - 0.4])
    windows = rng.permutation(known.n_windows)
    if rng.random() < 0.3:
        known.flat = frozenset({int(windows[0])})
    if rng.random() < 0.3:
        known.clipped = frozenset({int(windows[1])})
    return known


# Files, each format as its description has it.


def write_edf_file(folder: Path, known: Known, rng: np.random.Generator) -> None:
    """Write an EDF with the ECG among other channels, in records of 1, 2 or 5 s."""
    record_s = int(rng.choice([1, 2, 5]))
    known.duration_s = known.duration_s // record_s * record_s
    signal = signal_of(known, rng)
    other = rng.normal(size=int(known.duration_s * 50))
    channels = [
        edfio.EdfSignal(np.clip(other, -5, 5), 50, label="EEG", physical_range=(-5, 5)),
        edfio.EdfSignal(
            np.clip(signal, -5, 5), known.fs, label="ECG", physical_dimension="mV",
            physical_range=(-5, 5),
        ),
    ]  # fmt: skip
    order = rng.permutation(2)
    path = folder / known.file
    path.parent.mkdir(parents=True, exist_ok=True)
    edfio.Edf([channels[i] for i in order], data_record_duration=record_s).write(path)


def write_edf_plus(folder: Path, known: Known, rng: np.random.Generator, *, bits: int = 16) -> None:
    """Write an EDF+ or, with 24 bits, a BDF+, whose annotations are the hypnogram."""
    known.duration_s = known.duration_s // 30 * 30
    names = {"W": "Sleep stage W", "N2": "Sleep stage N2", "R": "Sleep stage R"}
    known.stages = [
        (start, 30.0, str(rng.choice(list(names)))) for start in np.arange(0, known.duration_s, 30)
    ]
    path = folder / known.file
    path.parent.mkdir(parents=True, exist_ok=True)
    signal_kind, kind = (edfio.EdfSignal, edfio.Edf) if bits == 16 else (edfio.BdfSignal, edfio.Bdf)
    signal = signal_kind(
        np.clip(signal_of(known, rng), -5, 5), known.fs, label="ECG", physical_dimension="mV",
        physical_range=(-5, 5),
    )  # fmt: skip
    notes = [edfio.EdfAnnotation(start, length, names[s]) for start, length, s in known.stages]
    kind([signal], annotations=notes, data_record_duration=1).write(path)


def write_wfdb(folder: Path, known: Known, rng: np.random.Generator) -> None:
    """Write a WFDB record: frames of one or several samples, one or two leads, labels, gaps."""
    path = folder / known.file
    path.parent.mkdir(parents=True, exist_ok=True)
    stem, per_frame = path.stem, int(rng.choice([1, 1, 2, 4]))
    n_frames = int(known.duration_s * known.fs) // per_frame
    known.duration_s = n_frames * per_frame / known.fs
    digital = np.rint(signal_of(known, rng) * 200).astype("<i2")[: n_frames * per_frame]
    if rng.random() < 0.3:
        window = int(rng.integers(known.n_windows))
        if window not in known.flat | known.clipped:
            known.nonfinite = frozenset({window})
            digital[round((window * WINDOW_S + 5) * known.fs)] = -32768
    other = np.rint(rng.normal(size=n_frames) * 50).astype("<i2")
    frames = np.column_stack([digital.reshape(n_frames, per_frame), other])
    many = f"x{per_frame}" if per_frame > 1 else ""
    data = f"{stem}.dat".replace(" ", "_")
    rows = [f"{data} 16{many} 200 16 0 0 0 0 II", f"{data} 16 200 16 0 0 0 0 RESP"]
    if rng.random() < 0.5:
        frames, rows = np.roll(frames, 1, axis=1), rows[::-1]
    path.with_name(data).write_bytes(np.ascontiguousarray(frames).tobytes())
    frame_rate = known.fs / per_frame
    head = f"{stem.replace(' ', '_')} 2 {frame_rate:.10g} {n_frames}\n"
    path.write_text(head + "\n".join(rows) + "\n")
    _write_rhythms(path.with_suffix(".atr"), known, frame_rate, rng)


def _write_rhythms(path: Path, known: Known, frame_rate: float, rng: np.random.Generator) -> None:
    """Write rhythm changes, counted in frames or in a time resolution of the file's own."""
    times = np.sort(rng.uniform(0, known.duration_s - 1, size=int(rng.integers(1, 5))))
    if rng.random() < 0.5:
        times[0] = 0.0
    unit = float(rng.choice([frame_rate, 1000.0]))
    ticks = np.unique(np.rint(times * unit).astype(int))
    names = rng.choice(["AFIB", "N", "AFL", "J"], size=ticks.size)
    known.rhythms = [(tick / unit, str(name)) for tick, name in zip(ticks, names, strict=True)]
    words = b""
    if unit != frame_rate:
        words += _annotation(0, 22, f"## time resolution: {unit:g}")
    before = 0
    for tick, name in zip(ticks, names, strict=True):
        words += _annotation(int(tick) - before, 28, f"({name}\0")
        before = int(tick)
    path.write_bytes(words + b"\0\0")


def _annotation(interval: int, code: int, text: str) -> bytes:
    """Return one annotation with a text, as annot(5) describes it."""
    skip = b""
    if interval > 1023:
        skip = (59 << 10).to_bytes(2, "little")
        skip += (interval >> 16).to_bytes(2, "little") + (interval & 0xFFFF).to_bytes(2, "little")
        interval = 0
    data = text.encode()
    note = ((63 << 10) | len(data)).to_bytes(2, "little") + data + b"\0" * (len(data) % 2)
    return skip + ((code << 10) | interval).to_bytes(2, "little") + note


def write_brainvision(folder: Path, known: Known, rng: np.random.Generator) -> None:
    """Write a BrainVision recording of 32-bit floats in microvolts."""
    path = folder / known.file
    path.parent.mkdir(parents=True, exist_ok=True)
    stem = path.stem
    header = [
        "Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]", "Codepage=UTF-8",
        f"DataFile={stem}.eeg", f"MarkerFile={stem}.vmrk", "DataFormat=BINARY",
        "DataOrientation=MULTIPLEXED", "NumberOfChannels=1",
        f"SamplingInterval={1e6 / known.fs:g}", "[Binary Infos]",
        "BinaryFormat=IEEE_FLOAT_32", "[Channel Infos]", "Ch1=ECG,,1,µV", "",
    ]  # fmt: skip
    markers = [
        "Brain Vision Data Exchange Marker File, Version 1.0", "[Common Infos]", "Codepage=UTF-8",
        f"DataFile={stem}.eeg", "[Marker Infos]", "Mk1=New Segment,,1,1,0,20200101000000000000", "",
    ]  # fmt: skip
    path.write_text("\n".join(header), encoding="utf-8")
    path.with_suffix(".vmrk").write_text("\n".join(markers), encoding="utf-8")
    path.with_suffix(".eeg").write_bytes((signal_of(known, rng) * 1e3).astype("<f4").tobytes())


Writer = Callable[[Path, Known, np.random.Generator], None]
FORMATS: dict[str, tuple[Writer, str, tuple[float, ...]]] = {
    "edf": (write_edf_file, ".edf", (100, 125, 200, 250, 256, 500, 512)),
    "edf+": (write_edf_plus, ".edf", (128, 256)),
    "bdf+": (partial(write_edf_plus, bits=24), ".bdf", (256, 512)),
    "wfdb": (write_wfdb, ".hea", (128, 250, 360, 499.94, 199.975, 250.01, 1000)),
    "brainvision": (write_brainvision, ".vhdr", (100, 250, 500)),
}


# Tables, in the ways that people write them.


def write_subjects(folder: Path, cohort: list[Known], rng: np.random.Generator) -> None:
    """Write ``subjects.csv`` in one of many styles; what it says is what is known."""
    dates = [f"2024-{1 + int(m):02d}-{1 + int(d):02d}" for m, d in rng.integers(0, 11, (40, 2))]
    style = str(rng.choice(["number", "iso", "us", "german", "word"]))
    by_subject: dict[str, list[Known]] = {}
    for known in cohort:
        by_subject.setdefault(known.subject, []).append(known)
    written: dict[str, str] = {}
    for of in by_subject.values():
        days = sorted(set(dates))[: len(of)]
        for known, day in zip(sorted(of, key=lambda k: k.visit), days, strict=False):
            written[known.file] = _visit_text(known.visit, day, style)
    if style in ("us", "german"):  # one date above the twelfth tells the order of the column
        sample = cohort[0]
        later = by_subject[sample.subject][-1]
        top = max(by_subject[sample.subject], key=lambda k: k.visit)
        assert later.subject == top.subject
        written[top.file] = _visit_text(top.visit, "2024-12-28", style)
    separator = str(rng.choice([",", ";", "\t"]))
    columns = {
        "file": str(rng.choice(["file", "Filename", "Datei", "recording"])),
        "subject": str(rng.choice(["subject", "Patient", "patient-id", "Participant ID"])),
        "visit": str(rng.choice(["visit", "Session", "date"])),
        "sex": str(rng.choice(["sex", "Gender", "Geschlecht"])),
        "age": str(rng.choice(["age", "Alter", "edad"])),
    }
    order = [str(name) for name in rng.permutation(list(columns))]
    extras = ["id"] if rng.random() < 0.5 else []
    extras += ["remark"] if rng.random() < 0.5 else []
    codes = {"male": ("M", "male", "1"), "female": ("F", "female", "2")}
    which, decimal = int(rng.integers(3)), "," if separator == ";" else "."
    lines = [[*(columns[name] for name in order), *extras]]
    for row, known in enumerate(rng.permutation(np.array(cohort, dtype=object))):
        values = {
            "file": _file_text(known.file, cohort, rng),
            "subject": unicodedata.normalize(str(rng.choice(["NFC", "NFD"])), known.subject),
            "visit": written[known.file],
            "sex": codes[known.sex][which] if known.sex else "",
            "age": "" if known.age is None else f"{known.age:g}".replace(".", decimal),
        }
        more = {"id": str(row + 1), "remark": f'"calm{separator} slept"'}
        lines.append([*(values[name] for name in order), *(more[name] for name in extras)])
    text = str(rng.choice(["\n", "\r\n"])).join(separator.join(line) for line in lines)
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
    (folder / "subjects.csv").write_bytes(f"{text}\n".encode(encoding))


def _visit_text(visit: int, day: str, style: str) -> str:
    year, month, date = day.split("-")
    return {
        "number": str(visit), "iso": day, "us": f"{month}/{date}/{year}",
        "german": f"{date}.{month}.{year}", "word": f"V{visit}",
    }[style]  # fmt: skip


def _file_text(file: str, cohort: list[Known], rng: np.random.Generator) -> str:
    """Return a recording's name as somebody types it, as far as it stays clear."""
    stems = [known.file.rpartition(".")[0].lower() for known in cohort]
    options = [file, f"./{file}", file.replace("/", "\\")]
    if stems.count(file.rpartition(".")[0].lower()) == 1:
        options += [file.rpartition(".")[0], file.upper() if file.isascii() else file]
    return str(rng.choice(np.array(options, dtype=object)))


def write_events(folder: Path, cohort: list[Known], rng: np.random.Generator) -> None:
    """Write stages of some recordings into ``events.csv``, rows in any order."""
    rows = []
    for known in cohort:
        if known.stages or rng.random() < 0.5 or known.duration_s % WINDOW_S:
            continue
        ends = [*np.arange(0, known.duration_s, 20), known.duration_s]
        for start, end in pairwise(ends):
            stage = str(rng.choice(["W", "N1", "N2", "N3", "R"]))
            known.stages.append((float(start), float(end - start), stage))
            word = {"R": "REM", "W": "Wake"}.get(stage, stage)
            rows.append(f"{known.file},{start:g},{end - start:g},{word}")
    if rows:
        rng.shuffle(rows)
        (folder / "events.csv").write_text("\n".join(["file,start_s,duration_s,event", *rows]))


def write_cohort(folder: Path, rng: np.random.Generator) -> list[Known]:
    """Write a folder of recordings with its tables, and return what is in it."""
    cohort = []
    names = rng.permutation(np.array(_NAMES, dtype=object))[: int(rng.integers(2, 6))]
    subjects = ["P1", "p 2", "Zoë", "7", "S-10"]
    for name in names:
        write, suffix, rates = FORMATS[str(rng.choice(list(FORMATS)))]
        known = any_known(rng, f"{name}{suffix}", float(rng.choice(rates)))
        known.subject = str(rng.choice(np.array(subjects, dtype=object)))
        write(folder, known, rng)
        cohort.append(known)
    facts = {s: (rng.choice(["male", "female", ""]), int(rng.integers(20, 90))) for s in subjects}
    for subject in subjects:
        for visit, known in enumerate((k for k in cohort if k.subject == subject), start=1):
            known.visit = visit
            known.sex = str(facts[subject][0]) or None
            known.age = facts[subject][1] + visit / 2
    write_subjects(folder, cohort, rng)
    write_events(folder, cohort, rng)
    return cohort


# The comparison.


def planted_cohort(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Write a cohort, preprocess it, and compare the index with what was planted."""
    (folder / "data").mkdir(parents=True)
    cohort = write_cohort(folder / "data", rng)
    if problems := forked(partial(_differences, folder, cohort)):
        raise BrokenError("; ".join(problems[:4]))


def _differences(folder: Path, cohort: list[Known]) -> list[str]:
    with planted.bug():
        settings = settings_for(folder / "store", folder=folder / "data")
        run(settings)
        rows = ask(
            settings,
            "SELECT name, recording_id, subject, visit, sex::VARCHAR, age, n_windows, "
            "status::VARCHAR, reason FROM recordings",
        )
        found = {row[0]: row[1:] for row in rows}
        names = {unicodedata.normalize("NFC", name) for name in found}
        problems = []
        if names != {unicodedata.normalize("NFC", known.file) for known in cohort}:
            problems.append(f"recordings {sorted(found)}")
        for known in cohort:
            if known.file in found:
                problems += _recording_problems(settings, known, found[known.file])
        return problems


def _recording_problems(settings: object, known: Known, row: tuple[object, ...]) -> list[str]:
    number, subject, visit, sex, age, n_windows, status, why = row
    problems = []
    expected = (known.subject, known.visit, known.sex, known.age, known.n_windows, "ok")
    subject = unicodedata.normalize("NFC", str(subject))
    if (subject, visit, sex, age, n_windows, status) != expected:
        got = (subject, visit, sex, age, n_windows, status, why)
        return [f"{known.file}: {got}, planted {expected}"]
    windows = ask(
        settings,  # type: ignore[arg-type]
        'SELECT "row", start_s, flat, clipped, nonfinite, rhythm::VARCHAR, rhythm_share, '
        f'stage::VARCHAR FROM windows WHERE recording_id = {number} ORDER BY "row"',
    )
    store = WindowStore(settings.store.root)  # type: ignore[attr-defined]
    signal = store.read_recording(int(str(number)))
    for place, start_s, flat, clipped, nonfinite, rhythm, share, stage in windows:
        where = f"{known.file} window {place}"
        if start_s != place * WINDOW_S:
            problems.append(f"{where}: starts at {start_s}")
        flags = (flat, nonfinite)
        if flags != (place in known.flat, place in known.nonfinite):
            problems.append(f"{where}: flat and nonfinite are {flags}")
        if clipped != (place in known.clipped):
            problems.append(f"{where}: clipped is {clipped}")
        label = known.rhythm_of(place)
        if (label[0] if label else None) != rhythm:
            problems.append(f"{where}: rhythm {rhythm}, planted {label}")
        elif label and abs(share - label[1]) > 1e-3:
            problems.append(f"{where}: share {share}, planted {label[1]}")
        planted_stage = _stage_of(known, place)
        if stage != planted_stage:
            problems.append(f"{where}: stage {stage}, planted {planted_stage}")
        if not known.flat & {place} and not known.clipped & {place} | known.nonfinite & {place}:
            problems += _beat_problems(known, place, signal[place].astype(float), where)
    return problems


def _stage_of(known: Known, window: int) -> str | None:
    """Return the stage in the middle of a window: planted stages change on its grid."""
    middle = window * WINDOW_S + WINDOW_S / 2
    inside = [s for start, length, s in known.stages if start <= middle < start + length]
    return {"R": "REM"}.get(inside[0], inside[0]) if inside else None


def _beat_problems(known: Known, window: int, samples: Floats, where: str) -> list[str]:
    """Return how a stored window's peaks differ from the planted beats."""
    start = window * WINDOW_S
    for beat in known.beats_s:
        if start + 0.1 < beat < start + WINDOW_S - 0.1:
            near = np.arange(round((beat - start - 0.08) * FS), round((beat - start + 0.08) * FS))
            top = int(near[np.argmax(samples[near])])
            before, at, after = np.log(np.maximum(samples[top - 1 : top + 2], 1e-3))
            peak = (top + 0.5 * (before - after) / (before - 2 * at + after)) / FS
            if abs(peak - (beat - start)) > NEAR_S:
                return [f"{where}: beat at {beat:.4f} s is at {start + peak:.4f} s"]
    return []
