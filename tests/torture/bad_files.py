"""Mutated recordings and tables: quarantined, flagged, or equal to what another reader reads."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import mne.io
import numpy as np
import pyedflib
import wfdb
from scipy.io import savemat

from flows.ingest.recording import Job, preprocess_recording
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.datasets import DATASETS
from preprocessing.recording import RawRecording
from preprocessing.user_folder.table import SubjectTableError
from storage.errors import DeapsError
from storage.schema import RecordingRow, Status
from storage.windows import read_windows
from tests.edf_files import beats, signal_field, write_edf
from tests.torture.child import BrokenError, Child
from tests.torture.mutations import mutate_bytes, mutate_field, mutate_tokens, truncate
from tests.wfdb_files import write_record

HANG_S = 5.0
MEMORY_MB = 1000.0
_FLAT_S, _MOST_MV = 2.0, 10_000.0
_HEADER = 256 * 3
_FIXED = [slice(0, 8), slice(168, 176), slice(176, 184), slice(184, 192), slice(192, 236),
          slice(236, 244), slice(244, 252), slice(252, 256)]  # fmt: skip
_BY_SIGNAL = ((0, 16), (96, 8), (104, 8), (112, 8), (120, 8), (128, 8), (216, 8))
_FIELDS = _FIXED + [
    signal_field(2, i, offset, width) for offset, width in _BY_SIGNAL for i in (0, 1)
]


def bad_edf(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Mutate an EDF file once."""
    path = write_edf(
        folder / "in" / "a.edf", {"EEG": beats(30, seed=1), "ECG": beats(30, seed=number % 7)}
    )
    data = path.read_bytes()
    record = (len(data) - _HEADER) // 30
    boundaries = (
        0,
        8,
        256,
        512,
        _HEADER,
        _HEADER + record,
        _HEADER + 7 * record,
        len(data) - record,
    )
    match number % 6:
        case 0:
            data = mutate_bytes(rng, data, stop=_HEADER)
        case 1:
            data = mutate_bytes(rng, data, start=_HEADER)
        case 2:
            data = truncate(rng, data, boundaries)
        case 3:
            data += rng.bytes(int(rng.integers(1, 3 * record)))
        case _:
            for _ in range(int(rng.integers(1, 3))):
                data = mutate_field(rng, data, _FIELDS)
    path.write_bytes(data)
    _try(folder / "in", "folder", lambda _: edf_by_others(path))


def bad_wfdb(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Mutate a WFDB record, a record of Challenge 2017 or a table once."""
    match number % 3:
        case 0 | 1:
            _bad_record(rng, number, folder / "in")
            _try(folder / "in", "folder", partial(wfdb_by_library, folder / "in" / "r"))
        case _ if number % 2:
            _bad_mat(rng, folder / "in")
            _try(folder / "in", "challenge2017", lambda _: None)
        case _:
            _bad_tables(rng, folder / "in")


def _bad_record(rng: np.random.Generator, number: int, folder: Path) -> None:
    fmt = ("212", "16", "32", "24")[number % 4]
    leads = {"V5": beats(20, 360, seed=3), "II": beats(20, 360, seed=number % 5)}
    write_record(folder, "r", leads, fmt=fmt, rhythms={0: "N", 1000: "AFIB"})
    header, samples, notes = folder / "r.hea", folder / "r.dat", folder / "r.atr"
    match int(rng.integers(6)):
        case 0 | 1:
            header.write_text(mutate_tokens(rng, header.read_text()))
        case 2:
            header.write_bytes(mutate_bytes(rng, header.read_bytes()))
        case 3:
            samples.write_bytes(mutate_bytes(rng, samples.read_bytes()))
        case 4:
            data = samples.read_bytes()
            samples.write_bytes(truncate(rng, data, (0, 3, 720, len(data) - 3, len(data) // 2)))
        case _:
            notes.write_bytes(mutate_bytes(rng, notes.read_bytes()))


def _bad_mat(rng: np.random.Generator, folder: Path) -> None:
    folder.mkdir(parents=True)
    samples = np.rint(beats(20, 300) * 1000).astype(np.int16)[None]
    savemat(folder / "A1.mat", {"val": samples}, format="5" if rng.random() < 0.5 else "4")
    text = f"A1 1 300 {samples.size}\nA1.mat 16+24 1000/mV 16 0 {samples[0, 0]} 0 0 ECG\n"
    (folder / "A1.hea").write_text(text)
    name = folder / ("A1.mat" if rng.random() < 0.6 else "A1.hea")
    name.write_bytes(mutate_bytes(rng, name.read_bytes()))


def _bad_tables(rng: np.random.Generator, folder: Path) -> None:
    """Mutate a label file; a label is the one it was, or absent, but for the lines touched."""
    folder.mkdir(parents=True)
    names = [f"A{i:05d}" for i in range(40)]
    table = folder / "REFERENCE-v3.csv"
    table.write_text("".join(f"{name},{'NAO~'[i % 4]}\n" for i, name in enumerate(names)))
    table.write_bytes(mutate_bytes(rng, table.read_bytes()))
    (folder / "subjects.csv").write_bytes(
        mutate_bytes(rng, b"file,subject,visit,sex,age\nr.hea,s1,1,F,70\nx.edf,s2,2,M,60\n")
    )

    def read() -> int:
        with suppress(SubjectTableError):  # a table that is refused, in words
            DATASETS["folder"].tables(folder)
        facts = DATASETS["challenge2017"].tables(folder).facts
        return sum(
            name in facts and facts[name].label not in ("NAO~"[i % 4], None)
            for i, name in enumerate(names)
        )

    ended = Child(read).wait(HANG_S)
    if ended.value > 8:  # four mutations of up to 64 bytes each touch no more lines' labels
        raise BrokenError(f"I4: {ended.value} labels are others than before")


def bad_xml(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Mutate the annotations of a night once: an error of ours in words, or a scoring."""
    from preprocessing.formats.scoring_xml import read_nsrr_xml, read_profusion_xml

    kind = ("nsrr", "profusion")[number % 2]
    path = folder / "night.xml"
    path.write_bytes(mutate_bytes(rng, _XML[kind].encode()))
    read: Callable[[Path], object] = read_nsrr_xml if kind == "nsrr" else read_profusion_xml

    def attempt() -> None:
        with suppress(DeapsError):
            read(path)

    _bounded(Child(attempt))


_XML = {
    "nsrr": (
        '<?xml version="1.0"?><PSGAnnotation><EpochLength>30</EpochLength><ScoredEvents>'
        "<ScoredEvent><EventType>Stages|Stages</EventType>"
        "<EventConcept>Stage 2 sleep|2</EventConcept>"
        "<Start>0</Start><Duration>90</Duration></ScoredEvent>"
        "<ScoredEvent><EventType>Respiratory|Respiratory</EventType>"
        "<EventConcept>Hypopnea|Hypopnea</EventConcept><Start>20.5</Start><Duration>12</Duration>"
        "</ScoredEvent></ScoredEvents></PSGAnnotation>"
    ),
    "profusion": (
        "<CMPStudyConfig><EpochLength>30</EpochLength><ScoredEvents><ScoredEvent><Name>Hypopnea</Name>"
        "<Start>20.5</Start><Duration>12</Duration></ScoredEvent></ScoredEvents>"
        "<SleepStages><SleepStage>2</SleepStage><SleepStage>2</SleepStage></SleepStages>"
        "</CMPStudyConfig>"
    ),
}


def _bounded(child: Child) -> object:
    ended = child.wait(HANG_S + 3)
    if ended.killed:
        raise BrokenError(f"a reader was ended by signal {ended.signal}")
    if ended.seconds > HANG_S:
        raise BrokenError(f"a reader took {ended.seconds:.1f} s")
    if ended.peak_mb > MEMORY_MB:
        raise BrokenError(f"a reader took {ended.peak_mb:.0f} MB")
    return ended.value


def _try(root: Path, dataset: str, others: Callable[[str], np.ndarray | None]) -> None:
    _bounded(Child(partial(_check, root, dataset, others)))


def _check(root: Path, dataset: str, others: Callable[[str], np.ndarray | None]) -> None:
    """Preprocess a folder's recordings and compare what is believed with another reader."""
    reader = DATASETS[dataset]
    job = Job(reader, root, root.parent / "store", SignalSettings(), QualitySettings())
    for recording in reader.find(root):
        row = preprocess_recording(job, recording)
        row = getattr(row, "row", row)
        if row.status is Status.QUARANTINED:
            if not row.reason or re.search(r"\.py|\bline \d", row.reason):
                raise BrokenError(f"I4: the reason is {row.reason!r}")
            continue
        raw = reader.read(root, recording, SignalSettings().labels())
        _require_flags(job.store, row, raw)
        if not (row.notes or row.truncated):
            _require_equal(raw, others(raw.channel))


def _require_flags(store: Path, row: RecordingRow, raw: RawRecording) -> None:
    """Raise BrokenError if a window with a fault has no flag (I7); judged by other code."""
    if row.path is None:
        return
    flags, _ = read_windows(store / row.path, ("flat", "clipped", "nonfinite"))
    length = round(10 * raw.fs)
    for number, flagged in enumerate(flags):
        samples = raw.signal[number * length : (number + 1) * length]
        bad = not np.isfinite(samples).all()
        bad |= _longest_run(samples) >= round(_FLAT_S * raw.fs)
        bad |= bool(np.abs(samples - np.median(raw.signal)).max() > _MOST_MV)
        if bad and not any(flagged):
            raise BrokenError(f"I7: window {number} has a fault and no flag")


def _longest_run(samples: np.ndarray) -> int:
    changes = np.flatnonzero(np.diff(samples) != 0)
    edges = np.concatenate([[-1], changes, [len(samples) - 1]])
    return int(np.diff(edges).max())


def _require_equal(raw: RawRecording, reference: np.ndarray | None) -> None:
    if reference is None:
        return
    n = min(len(reference), raw.signal.size)
    if n == 0 or abs(len(reference) - raw.signal.size) > 0:
        raise BrokenError(
            f"{raw.signal.size} samples here, {len(reference)} elsewhere, and no note"
        )
    scale = max(1e-6, float(np.nanmax(np.abs(reference))))
    if not np.allclose(raw.signal, reference, rtol=1e-4, atol=1e-4 * scale, equal_nan=True):
        raise BrokenError(
            "the samples are not those that another reader reads, and no note says so"
        )


def edf_by_others(path: Path) -> np.ndarray | None:
    """Return the ECG in mV as mne reads it, else as pyedflib does; None if neither can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _edf_by_mne(path)
        except Exception:
            pass
        try:
            return _edf_by_pyedflib(path)
        except Exception:
            return None


def _edf_by_mne(path: Path) -> np.ndarray:
    raw = mne.io.read_raw_edf(path, verbose="ERROR")
    return raw.get_data(picks=[_ecg(raw.ch_names)])[0] * 1e3


def _edf_by_pyedflib(path: Path) -> np.ndarray:
    with pyedflib.EdfReader(str(path)) as file:
        index = _ecg(file.getSignalLabels())
        factor = {"mV": 1.0, "uV": 1e-3, "V": 1e3}[file.getPhysicalDimension(index).strip()]
        return file.readSignal(index) * factor


def _ecg(labels: list[str]) -> int:
    from preprocessing.channels import pick_channel

    return pick_channel(labels)[0]


def wfdb_by_library(stem: Path, lead: str) -> np.ndarray | None:
    """Return the lead in mV as the WFDB library reads it; None if it cannot."""
    try:
        record = wfdb.rdrecord(str(stem))
        index = record.sig_name.index(lead)
        factor = {"mV": 1.0, "uV": 1e-3, "V": 1e3}[record.units[index]]
        return record.p_signal[:, index] * factor
    except Exception:
        return None
