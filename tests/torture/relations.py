"""Metamorphic relations: what must change changes, and what must not does not.

A small project is preprocessed and published. Then one thing is changed: a sample, a label, a row
of a table, a path, a setting, a version of the code. The project is preprocessed again, and
everything that is published is compared, recording by recording and aspect by aspect. A relation
names exactly what may differ; the rest must be equal, to the bit unless it says otherwise. The same
project in a new store must give the same snapshot, whatever was kept from the old one.
"""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import preprocessing.config as versions
from flows.config import Settings
from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from storage.errors import DeapsError
from storage.window_store import WindowStore
from tests.edf_files import START_TIME, patch, write_edf
from tests.flows.inline import ask, run, settings_for
from tests.torture import planted
from tests.torture.child import BrokenError, forked
from tests.torture.truth import Known, _annotation, signal_of

A, B, C, D = "a.edf", "b.hea", "sub/c.edf", "d.hea"
NIGHT = "shhs1-200001"
SECOND_NIGHT = "shhs2-200001"
NAMES = (A, B, C, D, NIGHT, SECOND_NIGHT)
SECONDS, FS = 90, 250

SIGNAL = {"signal", "scale", "quality", "digest"}
LABELS = {"rhythm"}
SCORED = {"stage", "events"}
PEOPLE = {"subject", "visit", "sex", "age"}


# The project, and what it publishes.


def known(name: str, seed: int) -> Known:
    """Return a recording with steady beats of its own rate."""
    beats = np.arange(0.5, SECONDS - 0.5, 0.7 + seed / 20)
    return Known(name, FS, SECONDS, beats)


def wave(seed: int) -> np.ndarray:
    """Return the millivolts of a recording, on the grid of a converter of 200 steps a millivolt."""
    return np.rint(signal_of(known("", seed), np.random.default_rng(seed)) * 200) / 200


def write_wfdb(
    folder: Path, stem: str, leads: Mapping[str, np.ndarray], *, head: str = "", atr: bytes = b""
) -> None:
    """Write a record of format 16, its values as they are."""
    digital = np.column_stack([np.rint(values * 200) for values in leads.values()]).astype("<i2")
    (folder / f"{stem}.dat").write_bytes(digital.tobytes())
    rows = "".join(f"{stem}.dat 16 200 16 0 0 0 0 {name}\n" for name in leads)
    (folder / f"{stem}.hea").write_text(f"{stem} {len(leads)} {FS} {len(digital)}\n{rows}{head}")
    if atr:
        (folder / f"{stem}.atr").write_bytes(atr)


def rhythms(*changes: tuple[float, str], unit: float = FS) -> bytes:
    """Return an annotation file of rhythm changes; other units than frames are named."""
    words, before = b"", 0
    if unit != FS:
        words = _annotation(0, 22, f"## time resolution: {unit:g}")
    for seconds, name in changes:
        words += _annotation(round(seconds * unit) - before, 28, f"({name}\0")
        before = round(seconds * unit)
    return words + b"\0\0"


CHANGES = ((0.0, "N"), (20.0, "AFIB"), (45.0, "N"), (70.0, "AFL"))
TABLE = [
    ["file", "subject", "visit", "sex", "age"],
    [A, "P1", "1", "F", "50"],
    [B, "P2", "1", "M", "61"],
    [C, "P1", "2", "F", "52"],
    [D, "Zoë", "1", "M", "70"],
]
EVENTS = [
    ["file", "start_s", "duration_s", "event"],
    *([A, str(start), "30", stage] for start, stage in ((0, "W"), (30, "N2"), (60, "REM"))),
    [A, "35", "12", "Hypopnea"],
]


def write_table(path: Path, rows: Sequence[Sequence[str]], *, separator: str = ",") -> None:
    """Write rows as CSV in UTF-8."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)


def make_project(folder: Path) -> Path:
    """Write four recordings with tables of their people and stages, and a night with XML."""
    data = folder / "data"
    (data / "sub").mkdir(parents=True)
    eeg = np.random.default_rng(9).normal(size=SECONDS * FS)
    write_edf(data / A, {"EEG": eeg, "ECG": wave(1)}, fs=FS)
    write_wfdb(data, "b", {"II": wave(2), "V5": wave(5)}, atr=rhythms(*CHANGES))
    write_edf(data / C, {"ECG": wave(3)}, fs=FS)
    write_wfdb(data, "d", {"II": wave(4)}, atr=rhythms((0.0, "N")))
    write_table(data / "subjects.csv", TABLE)
    write_table(data / "events.csv", EVENTS)
    DATASETS["shhs"].write(folder / "shhs", SynthSettings(shhs_subjects=1, shhs_hours=0.1))
    for path in folder.rglob("*"):
        os.utime(path, ns=(1_600_000_000 * 10**9,) * 2)
    run(settings_of(folder))
    return folder


@lru_cache(maxsize=1)
def base() -> Path:
    """Return a project that is made once in this process."""
    folder = Path(tempfile.mkdtemp(prefix="relations-"))
    forked(partial(make_project, folder / "project"))
    return folder / "project"


def settings_of(folder: Path, *overrides: str, store: str = "store") -> Settings:
    """Return the settings of a project."""
    roots = {"folder": folder / "data", "shhs": folder / "shhs"}
    return settings_for(folder / store, *overrides, **roots)


Published = dict[str, dict[str, Any]]
_ROWS = """
SELECT r.name, r.recording_id, r.subject, r.visit, r.sex::VARCHAR, r.age, r.status::VARCHAR,
       regexp_replace(r.reason, ' .*', ''), r.n_windows, r.mean_mv, r.std_mv, r.digest, r.fs,
       r.channel, r.clock_s, r.notes FROM recordings r ORDER BY r.name
"""
_WINDOWS = """
SELECT "row", start_s, quality::VARCHAR, psqi, ksqi, bassqi, qsqi, flat, clipped, nonfinite,
       rhythm::VARCHAR, rhythm_share, stage::VARCHAR
FROM windows WHERE recording_id = {} ORDER BY "row"
"""
_EVENTS = (
    "SELECT kind::VARCHAR, start_s, duration_s FROM events WHERE recording_id = {} ORDER BY ALL"
)


def published(settings: Settings) -> Published:
    """Return everything that is published, by recording and aspect."""
    found: Published = {}
    store = WindowStore(settings.store.root)
    for name, number, subject, visit, sex, age, status, why, n, mean, std, digest, *rest in ask(
        settings, _ROWS
    ):
        rows = ask(settings, _WINDOWS.format(number))
        found[name] = {
            "subject": subject, "visit": visit, "sex": sex, "age": age, "status": (status, why),
            "n": (n, [row[1] for row in rows]), "scale": (mean, std), "digest": digest,
            "fs": rest[0], "channel": rest[1], "clock": rest[2], "notes": rest[3],
            "quality": [row[2:7] for row in rows], "gate": [row[7:10] for row in rows],
            "rhythm": [row[10:12] for row in rows], "stage": [row[12] for row in rows],
            "events": ask(settings, _EVENTS.format(number)),
            "signal": (
                store.read_recording(number)
                if n and status == "ok"
                else np.zeros((0, 1000), np.float32)
            ),
        }  # fmt: skip
    return found


@dataclass(frozen=True)
class Relation:
    """One sentence, one change, and what of all that is published may differ after it."""

    sentence: str
    change: Callable[[Path], Sequence[str] | None]
    """Changes a project; may return settings for the second run."""
    must: Mapping[str, set[str]] = field(default_factory=dict)
    """Aspects that have to differ, by recording."""
    may: Mapping[str, set[str]] = field(default_factory=dict)
    redone: set[str] | None = None
    """Recordings whose windows have to be made again, and no others; None: those that must differ
    in their digest."""
    tolerance: float = 0.0
    """How far samples may differ that are called equal, in standard deviations."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    """What an error has to say; what is published then stays."""
    new: Mapping[str, str] = field(default_factory=dict)
    """The status of recordings that come to it."""
    gone: frozenset[str] = frozenset()

    def __call__(self, folder: Path) -> None:
        """Try it in a copy of the project."""
        if problem := forked(partial(self._try, folder, base())):
            raise BrokenError(f"{self.sentence}: {problem}")

    def _try(self, folder: Path, origin: Path) -> str | None:
        with planted.bug():
            shutil.copytree(origin, folder / "p")
            before = published(settings_of(folder / "p"))
            overrides = self.change(folder / "p") or ()
            root = Path(os.environ.pop("RELATION_ROOT", folder / "p"))
            settings = settings_of(root, *overrides)
            kept = _window_files(settings)
            try:
                first = run(settings)
            except DeapsError as error:
                if not self.refused or self.refused not in str(error):
                    return f"refused: {error}"
                return self._compare(before, published(settings))
            if self.refused and not _warned(settings, self.refused):
                return f"not refused with {self.refused!r}"
            written = _window_files(settings).items()
            made = {name for name, file in written if file not in kept.values()}
            expected = self.redone
            if expected is None:
                expected = {name for name, aspects in self.must.items() if "digest" in aspects}
            if not self.refused and made != expected:
                return f"made again: {sorted(made)}, expected {sorted(expected)}"
            after = published(settings)
            fresh = run(settings_of(root, *overrides, store="fresh"))
            if not self.refused and fresh.snapshot_id != first.snapshot_id:
                return "a new store has another snapshot"
            return self._compare(before, after)

    def _compare(self, before: Published, after: Published) -> str | None:
        before = {self.renamed.get(name, name): facts for name, facts in before.items()}
        names = (set(before) | set(self.new)) - self.gone
        if set(after) != names:
            return f"recordings {sorted(after)}, expected {sorted(names)}"
        for name, status in self.new.items():
            if after[name]["status"][0] != status:
                return f"{name} is {after[name]['status']}, not {status}"
        for name, facts in before.items():
            if name in self.gone:
                continue
            differing = {
                aspect
                for aspect, value in facts.items()
                if not _equal(value, after[name][aspect], self.tolerance)
            }
            must, may = self.must.get(name, set()), self.may.get(name, set())
            if missing := must - differing:
                return f"{name}: {sorted(missing)} did not change"
            if extra := differing - must - may:
                values = [(before[name][x], after[name][x]) for x in sorted(extra)][:1]
                return f"{name}: {sorted(extra)} changed: {str(values)[:300]}"
        return None


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and bool(np.abs(one - other).max(initial=0) <= tolerance)
    if tolerance and isinstance(one, tuple | list):
        return len(one) == len(other) and all(
            _equal(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    if tolerance and isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance * max(1.0, abs(one))
    return bool(one == other)


def _window_files(settings: Settings) -> dict[str, tuple[str, int]]:
    """Return the window file of each recording, and when it was written."""
    rows = ask(settings, "SELECT name, path FROM recordings WHERE path IS NOT NULL")
    files = {name: settings.store.root / path for name, path in rows}
    return {n: (f.name, f.stat().st_mtime_ns) for n, f in files.items() if f.exists()}


def _warned(settings: Settings, text: str) -> bool:
    from flows.ingest.scan import scan

    found = scan(settings)
    said = [warning for dataset in found.datasets for warning in dataset.warnings]
    said += [dataset.problem or "" for dataset in found.datasets]
    return any(text in each for each in said)


# Changes.


def edit_edf(path: Path, edit: Callable[[np.ndarray], np.ndarray], label: str = "ECG") -> None:
    """Change the digital values of one channel of an EDF with one record a second."""
    data = bytearray(path.read_bytes())
    n = int(data[252:256])
    labels = [bytes(data[256 + 16 * i : 272 + 16 * i]).decode().strip() for i in range(n)]
    sizes = [int(data[256 + 216 * n + 8 * i : 264 + 216 * n + 8 * i]) for i in range(n)]
    at = labels.index(label)
    start = 256 * (n + 1)
    frames = np.frombuffer(bytes(data[start:]), "<i2").reshape(-1, sum(sizes)).copy()
    columns = slice(sum(sizes[:at]), sum(sizes[: at + 1]))
    channel = edit(frames[:, columns].reshape(-1).astype(np.int64))
    frames[:, columns] = channel.astype("<i2").reshape(-1, sizes[at])
    path.write_bytes(bytes(data[:start]) + frames.tobytes())


def edit_dat(path: Path, edit: Callable[[np.ndarray], np.ndarray], leads: int) -> None:
    """Change the digital values of the first lead of a WFDB file of format 16."""
    frames = np.frombuffer(path.read_bytes(), "<i2").reshape(-1, leads).copy()
    frames[:, 0] = edit(frames[:, 0].astype(np.int64)).astype("<i2")
    path.write_bytes(frames.tobytes())


def _set(at: slice | int, value: int) -> Callable[[np.ndarray], np.ndarray]:
    def edit(values: np.ndarray) -> np.ndarray:
        values[at] = value
        return values

    return edit


def _stretch(window: int, start: float, stop: float) -> slice:
    return slice(int((window * 10 + start) * FS), int((window * 10 + stop) * FS))


def _table(edit: Callable[[list[list[str]]], list[list[str]]], **options: str) -> Any:
    def change(project: Path) -> None:
        write_table(project / "data/subjects.csv", edit([list(row) for row in TABLE]), **options)

    return change


def _events(edit: Callable[[list[list[str]]], list[list[str]]]) -> Any:
    def change(project: Path) -> None:
        write_table(project / "data/events.csv", edit([list(row) for row in EVENTS]))

    return change


def _cell(row: int, column: int, text: str) -> Callable[[list[list[str]]], list[list[str]]]:
    def edit(rows: list[list[str]]) -> list[list[str]]:
        rows[row][column] = text
        return rows

    return edit


def _column(column: int, *texts: str) -> Callable[[list[list[str]]], list[list[str]]]:
    return lambda rows: [
        [*row[:column], text, *row[column + 1 :]] for row, text in zip(rows, texts, strict=True)
    ]


def _extra(name: str, values: Sequence[str]) -> Callable[[list[list[str]]], list[list[str]]]:
    return lambda rows: [[*row, text] for row, text in zip(rows, [name, *values], strict=True)]


def _encoded(encoding: str) -> Any:
    def change(project: Path) -> None:
        path = project / "data/subjects.csv"
        path.write_bytes(path.read_text("utf-8").encode(encoding))

    return change


def _data(write: Callable[[Path], object]) -> Any:
    """Change the folder of data; whatever the function returns is dropped."""

    def change(project: Path) -> None:
        write(project / "data")

    return change


def _version(group: str, name: str) -> Any:
    def change(_: Path) -> None:
        getattr(versions, group)[name] += 1

    return change


def _scoring_version(_: Path) -> None:
    import flows.ingest.recording
    import flows.ingest.scan

    for module in (versions, flows.ingest.scan, flows.ingest.recording):
        if hasattr(module, "SCORING_VERSION"):
            module.SCORING_VERSION += 1


def _moved(project: Path) -> None:
    project.rename(project.with_name("moved"))
    os.environ["RELATION_ROOT"] = str(project.with_name("moved"))


def _linked(project: Path) -> None:
    (project / "data").rename(project / "real")
    (project / "data").symlink_to(project / "real")


def _touch(project: Path) -> None:
    for path in (project / "data").rglob("*"):
        os.utime(path)


def _xml(edit: Callable[[str], str]) -> Any:
    def change(project: Path) -> None:
        for path in (project / "shhs").rglob("*.xml"):
            path.write_bytes(edit(path.read_bytes().decode("utf-8")).encode("utf-8"))

    return change


def _as_frames(folder: Path) -> None:
    """Write ``d`` with five samples a frame."""
    head = (folder / "d.hea").read_text()
    n = SECONDS * FS
    head = head.replace(f"d 1 {FS} {n}", f"d 1 {FS // 5} {n // 5}")
    head = head.replace(" 16 200", " 16x5 200", 1)
    (folder / "d.hea").write_text(head)
    (folder / "d.atr").write_bytes(rhythms((0.0, "N")))


def _as_segments(folder: Path) -> None:
    """Cut ``d`` into two segments."""
    values = wave(4)
    cut = 40 * FS
    (folder / "d.dat").unlink()
    for stem, part in (("d_1", values[:cut]), ("d_2", values[cut:])):
        write_wfdb(folder, stem, {"II": part})
    (folder / "d.hea").write_text(f"d/2 1 {FS} {values.size}\nd_1 {cut}\nd_2 {values.size - cut}\n")


def _as_records_of(seconds: int) -> Any:
    def change(project: Path) -> None:
        import edfio

        path = project / "data" / C
        edf = edfio.read_edf(path)
        edf.update_data_record_duration(seconds)
        path.unlink()
        edf.write(path)

    return change


def _swap_leads(folder: Path) -> None:
    write_wfdb(folder, "b", {"V5": wave(5), "II": wave(2)})


def _swap_channels(folder: Path) -> None:
    eeg = np.random.default_rng(9).normal(size=SECONDS * FS)
    write_edf(folder / A, {"ECG": wave(1), "EEG": eeg}, fs=FS)


def _copy(source: str, target: str) -> Any:
    return _data(lambda data: shutil.copy(data / source, data / target))


def _longer(project: Path) -> None:
    eeg = np.random.default_rng(9).normal(size=(SECONDS + 40) * FS)
    ecg = np.concatenate([wave(1), wave(1)[: 40 * FS]])
    write_edf(project / "data" / A, {"EEG": eeg, "ECG": ecg}, fs=FS)


def _clipped_wave(size: int) -> np.ndarray:
    wave = np.zeros(size, np.int64)
    at = _stretch(3, 1, 9)
    wave[at] = np.rint(900 * np.sin(2 * np.pi * 1.1 * np.arange(at.stop - at.start) / FS))
    return wave


def _clip(folder: Path, *, glitches: Sequence[int] = ()) -> None:
    """Clip window 3 of ``d``, with single samples beyond the rail elsewhere."""

    def edit(values: np.ndarray) -> np.ndarray:
        values = np.clip(values + _clipped_wave(values.size), -400, 400)
        for place, value in enumerate(glitches):
            values[1000 + 700 * place] = value
        return values

    edit_dat(folder / "d.dat", edit, 1)


DIGESTS = {name: {"digest"} for name in NAMES}


def _of(names: Sequence[str], aspects: set[str]) -> dict[str, set[str]]:
    return dict.fromkeys(names, aspects)


RELATIONS: list[Relation] = [
    # Samples
    Relation("one sample of a lead: its recording alone",
             _data(lambda d: edit_edf(d / A, _set(5000, 900))), {A: {"signal", "scale", "digest"}},
             {A: {"quality"}}),
    Relation("one sample of another recording: that one alone",
             _data(lambda d: edit_edf(d / C, _set(5000, 900))), {C: {"signal", "scale", "digest"}},
             {C: {"quality"}}),
    Relation("a sample of another channel: the windows stay",
             _data(lambda d: edit_edf(d / A, _set(77, 3), "EEG")), {A: {"digest"}}),
    Relation("a sample of a lead that is not read: the windows stay",
             _data(lambda d: write_wfdb(d, "b", {"II": wave(2), "V5": wave(6)})),
             {B: {"digest"}}),
    Relation("twice the gain: the same windows, twice the scale",
             _data(lambda d: (d / "d.hea").write_text(
                 (d / "d.hea").read_text().replace(" 200 16", " 100 16"))),
             {D: {"scale", "digest"}}, {D: {"quality"}}, tolerance=2e-3),
    Relation("an offset: the same windows",
             _data(lambda d: edit_dat(d / "d.dat", lambda v: v + 37, 1)),
             {D: {"digest"}}, {D: {"quality", "scale", "signal"}}, tolerance=2e-2),
    Relation("inverted polarity: other windows",
             _data(lambda d: edit_dat(d / "d.dat", lambda v: -v, 1)),
             {D: {"signal", "digest"}}, {D: {"quality", "scale"}}),
    Relation("a flat stretch: the flag of its window",
             _data(lambda d: edit_dat(d / "d.dat", _set(_stretch(4, 2, 8), 11), 1)),
             {D: {"gate", "signal", "digest"}}, {D: SIGNAL}),
    Relation("a missing sample: the flag of its window",
             _data(lambda d: edit_dat(d / "d.dat", _set(4 * 2500 + 99, -32768), 1)),
             {D: {"gate", "digest"}}, {D: SIGNAL}),
    Relation("clipping: the flag of its window", _data(_clip),
             {D: {"gate", "signal", "digest"}}, {D: SIGNAL}),
    Relation("clipping with two glitches beyond the rails: the flag of its window",
             _data(partial(_clip, glitches=(900, -950))),
             {D: {"gate", "signal", "digest"}}, {D: SIGNAL}),
    Relation("40 s more: four windows more, the others where they were", _longer,
             {A: {"n", "signal", "scale", "digest", "gate", "rhythm", "stage", "quality"}},
             {A: {"events"}}),
    Relation("a header's own copy of the first sample: a note, the same windows",
             _data(lambda d: (d / "d.hea").write_text(
                 (d / "d.hea").read_text().replace(" 16 0 0 0 0", " 16 0 7 0 0"))),
             {D: {"digest", "notes"}}),
    Relation("no gain in a header: the same windows, and a note",
             _data(lambda d: (d / "d.hea").write_text(
                 (d / "d.hea").read_text().replace(" 16 200 16", " 16 0 16"))),
             {D: {"notes", "digest"}}),
    # Formats
    Relation("other order of channels in an EDF: the same windows", _data(_swap_channels),
             {A: {"digest"}}),
    Relation("other order of leads in a record: the same windows", _data(_swap_leads),
             {B: {"digest", "notes"}}),
    Relation("records of 5 s in an EDF: the same windows", _as_records_of(5),
             {C: {"digest"}}),
    Relation("records of 2 s in an EDF: the same windows", _as_records_of(2),
             {C: {"digest"}}),
    Relation("five samples a frame: the same windows and labels", _data(_as_frames),
             {D: {"digest"}}, {D: {"rhythm"}}),
    Relation("a record in two segments: the same windows", _data(_as_segments),
             {D: {"digest"}}),
    Relation("comments of a header: the same windows",
             _data(lambda d: (d / "d.hea").open("a").write("# a remark\n")),
             {D: {"digest"}}),
    Relation("another patient field of an EDF: the same windows, the same people",
             _data(lambda d: patch(d / C, slice(8, 88), "X F 01-JAN-1960 Someone")),
             {C: {"digest"}}),
    Relation("another start time of an EDF: the clock alone",
             _data(lambda d: patch(d / C, START_TIME, "11.22.33")),
             {C: {"digest", "clock"}}),
    # Rhythms
    Relation("a rhythm that starts a window later: labels of its recording",
             _data(lambda d: (d / "b.atr").write_bytes(
                 rhythms((0.0, "N"), (30.0, "AFIB"), *CHANGES[2:]))),
             {B: {"rhythm", "digest"}}),
    Relation("another rhythm of another recording: labels of that one alone",
             _data(lambda d: (d / "d.atr").write_bytes(rhythms((0.0, "AFIB")))),
             {D: {"rhythm", "digest"}}),
    Relation("rhythms in a time resolution of the file's own: the same labels",
             _data(lambda d: (d / "b.atr").write_bytes(rhythms(*CHANGES, unit=1000))),
             {B: {"digest"}}),
    Relation("a rhythm after the end: the same labels",
             _data(lambda d: (d / "b.atr").write_bytes(rhythms(*CHANGES, (400.0, "N")))),
             {B: {"digest", "notes"}}),
    Relation("beats beside the rhythms: the same labels",
             _data(lambda d: (d / "d.atr").write_bytes(
                 rhythms((0.0, "N"))[:-2] + b"\x64\x04" * 9 + b"\0\0")),
             {D: {"digest"}}),
    Relation("no annotation file: no labels", _data(lambda d: (d / "b.atr").unlink()),
             {B: {"rhythm", "digest"}}),
    # Stages and events
    Relation("another stage of an epoch: stages of its recording", _events(_cell(2, 3, "N3")),
             {A: {"stage"}}),
    Relation("an event elsewhere: events of its recording", _events(_cell(4, 1, "40")),
             {A: {"events"}}),
    Relation("rows of events in another order: nothing", _events(lambda r: [r[0], *r[:0:-1]]), {}),
    Relation("stages under the name in capitals: nothing",
             _events(lambda r: [r[0], *([x[0].upper(), *x[1:]] for x in r[1:])]), {}),
    Relation("stages of a file that is not there: nothing",
             _events(lambda r: [*r, ["gone.edf", "0", "30", "N2"]]), {}),
    Relation("stages of another format's name: nothing of this recording",
             _events(lambda r: [*r, ["d.edf", "0", "90", "N2"]]), {}),
    Relation("stages of twice the length: none are used",
             _events(lambda r: [*r, [A, "90", "90", "N2"]]), {A: {"stage"}}, {A: {"events"}}),
    Relation("line ends of an XML scoring: nothing",
             _xml(lambda t: t.replace("\r\n", "\n").replace("\n", "\r\n")), {}),
    Relation("another stage in an XML scoring: stages of its night",
             _xml(lambda t: t.replace("Stage 2 sleep|2", "Stage 1 sleep|1").replace(
                 "<SleepStage>2<", "<SleepStage>1<")), _of((NIGHT, SECOND_NIGHT), {"stage"})),
    # People
    *(Relation(f"subjects: {what}: nothing", change, {}, redone=set()) for what, change in (
        ("columns in another order", _table(lambda r: [row[::-1] for row in r])),
        ("rows in another order", _table(lambda r: [r[0], *r[:0:-1]])),
        ("semicolons", _table(lambda r: r, separator=";")),
        ("tabs", _table(lambda r: r, separator="\t")),
        ("UTF-16", _encoded("utf-16")),
        ("a byte order mark", _encoded("utf-8-sig")),
        ("windows-1252", _encoded("cp1252")),
        ("column patient", _table(_cell(0, 1, "Patient"))),
        ("column patient-id beside row numbers called id",
         _table(lambda r: _extra("id", "1234")(_cell(0, 1, "patient-id")(r)))),
        ("a column of remarks with separators in quotes",
         _table(_extra("remark", ["a, b", "", "c", ""]))),
        ("words for the sexes", _table(_column(3, "Gender", "female", "male", "w", "Mann"))),
        ("sexes as numbers", _table(_column(3, "sex", "2", "1", "2", "1"))),
        ("ages with decimals", _table(_column(4, "age", "50.0", "61.00", "52.0", "70"))),
        ("dates for visits, year first",
         _table(_column(2, "date", "2020-05-01", "2020-01-01", "2021-01-01", "2020-03-03"))),
        ("dates for visits, month first",
         _table(_column(2, "date", "05/20/2020", "01/01/2020", "06/01/2020", "03/03/2020"))),
        ("dates for visits, day first",
         _table(_column(2, "date", "20/05/2020", "01/01/2020", "01/02/2021", "03/03/2020"))),
        ("names of visits in a series", _table(_column(2, "visit", "V1", "V1", "V2", "V1"))),
        ("files in capitals", _table(_cell(1, 0, A.upper()))),
        ("files without their endings", _table(_cell(2, 0, "b"))),
        ("the signal file's name", _table(_cell(2, 0, "b.dat"))),
        ("the other way to write an accent",
         _table(_cell(4, 1, unicodedata.normalize("NFD", "Zoë")))),
        ("a row for a file of another folder's name that is not here",
         _table(lambda r: [*r, ["elsewhere/c.edf", "P9", "7", "M", "30"]])),
        ("the same row twice", _table(lambda r: [*r, r[1]])),
        ("an empty line", _table(lambda r: [*r, ["", "", "", "", ""]])),
    )),
    Relation("another subject of one row: that recording's alone", _table(_cell(2, 1, "P7")),
             {B: {"subject"}}, redone=set()),
    Relation("another sex: that recording's alone", _table(_cell(2, 3, "F")), {B: {"sex"}},
             redone=set()),
    Relation("another age: that recording's alone", _table(_cell(2, 4, "62")), {B: {"age"}},
             redone=set()),
    Relation("dates the other way round: visits of that person alone",
             _table(_column(2, "date", "2022-05-01", "2020-01-01", "2021-01-01", "2020-03-03")),
             {A: {"visit"}, C: {"visit"}}, redone=set()),
    *(Relation(f"subjects: {what}: refused, and nothing changes", change, {}, refused=why)
      for what, change, why in (
        ("a value with a separator and no quotes",
         _data(lambda d: (d / "subjects.csv").open("a").write("x.edf,Smith, Ann,1,F,3\n")),
         "more fields"),
        ("two rows that contradict each other", _table(lambda r: [*r, [A, "P8", "1", "F", "50"]]),
         "name one file and differ in subject"),
        ("one person with two sexes", _table(_cell(3, 3, "M")), "two sexes"),
        ("dates that nobody can order",
         _table(_column(2, "date", "05/06/2020", "01/01/2020", "04/07/2020", "03/03/2020")),
         "may be"),
        ("a date beside words",
         _table(_column(2, "date", "05/20/2020", "baseline", "01/20/2020", "03/03/2020")),
         "some visits are dates"),
    )),
    # Paths and times
    Relation("the whole project elsewhere: nothing", _moved, {}, redone=set()),
    Relation("data behind a link: nothing", _linked, {}, redone=set()),
    Relation("other times of the files: nothing", _touch, {}),
    Relation("files that are no recordings: nothing",
             _data(lambda d: [(d / n).write_text("x") for n in ("n.txt", ".DS_Store", "e.pdf")]),
             {}, redone=set()),
    Relation("another name: the same windows under it",
             _data(lambda d: (d / "d.hea").rename(d / "e.hea")),
             {"e.hea": {"subject"}}, {"e.hea": PEOPLE | {"digest", "rhythm"}}, renamed={D: "e.hea"},
             redone={"e.hea"}),
    Relation("a name in capitals: the same windows under it",
             _data(lambda d: [(d / f"d.{x}").rename(d / f"D.{x.upper()}")
                              for x in ("hea", "dat", "atr")]), {},
             {"D.HEA": {"digest"}}, renamed={D: "D.HEA"}, redone={"D.HEA"}),
    Relation("a recording more: that one alone is done",
             _data(lambda d: write_edf(d / "z.edf", {"ECG": wave(7)}, fs=FS)), {},
             redone={"z.edf"}, new={"z.edf": "ok"}),
    Relation("a recording less: the others stay", _data(lambda d: (d / C).unlink()), {},
             {A: {"visit"}}, gone=frozenset({C})),
    Relation("a copy of a file: set aside, the others stay", _copy(C, "sub/z.edf"), {},
             redone={"sub/z.edf"}, new={"sub/z.edf": "quarantined"}),
    Relation("two people in two leads of one file: both are read",
             _data(lambda d: (d / "e.hea").write_text(
                 f"e 2 {FS} {SECONDS * FS}\n" + "".join(
                     f"b.dat 16 200 16 0 0 0 0 {x}\n" for x in ("X", "II")))),
             {}, redone={"e.hea"}, new={"e.hea": "ok"}),
    Relation("a header that names another's signal: set aside as its copy",
             _data(lambda d: (d / "e.hea").write_text(
                 f"e 1 {FS} {SECONDS * FS}\nd.dat 16 200 16 0 0 0 0 II\n")),
             {}, redone={"e.hea"}, new={"e.hea": "quarantined"}),
    # Settings
    Relation("another high-pass: all windows, no labels and no people",
             lambda _: ["signal.highpass_hz=1.5"],
             _of(NAMES, {"signal", "scale", "digest"}), _of(NAMES, {"quality"})),
    Relation("other limits of flatness: the gate at most", lambda _: ["quality.flat_s=1.5"],
             DIGESTS, _of(NAMES, {"gate", "quality"})),
    Relation("other detectors of the quality: indices and classes at most",
             lambda _: ["quality.beat_tolerance_s=0.02"], DIGESTS, _of(NAMES, {"quality"})),
    Relation("other limits of clipping: the gate at most", lambda _: ["quality.clip_share=0.9"],
             DIGESTS, _of(NAMES, {"gate", "quality"})),
    Relation("more workers: nothing", lambda _: ["execution.workers=2"], {}, redone=set()),
    Relation("larger chunks: nothing", lambda _: ["execution.chunk_megabytes=1"], {}, redone=set()),
    Relation("a label that no file has: nothing", lambda _: ["signal.channels_add=XYZ"], {},
             redone=set()),
    Relation("settings of training: nothing", lambda _: ["training.batch=8"], {}, redone=set()),
    # Versions of the code
    Relation("a new version of EDF's reader: EDF alone is done again, with the same windows",
             _version("READER_VERSIONS", "edf"), _of((A, C, NIGHT, SECOND_NIGHT), {"digest"})),
    Relation("a new version of WFDB's reader: WFDB alone", _version("READER_VERSIONS", "wfdb"),
             _of((B, D), {"digest"})),
    Relation("a new version of a step: everything", _version("STEP_VERSIONS", "gate"), DIGESTS),
    Relation("a new version of the readers of stages: scored again, no window", _scoring_version,
             {}),
]  # fmt: skip


def relation(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Try one relation after the other."""
    RELATIONS[number % len(RELATIONS)](folder)
