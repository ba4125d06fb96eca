"""The synthetic cohort against real recordings: quality, heart rate and share of AFib.

The shares of the quality classes in twenty people vary by eight points (standard deviation) from
seed to seed, so the quality test pools several seeds: it compares populations, not one draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import sleepecg
import wfdb
from scipy import io, signal

from preprocessing.config import SynthSettings
from preprocessing.quality import score_windows
from preprocessing.synth import DATASETS
from preprocessing.synth.challenge2017 import SHARES
from preprocessing.synth.mitdb import AFIB_RECORDS
from storage.schema import Quality

pytestmark = pytest.mark.real

SETTINGS = SynthSettings(
    mitdb_minutes=5.0,
    afdb_records=25,
    afdb_hours=0.1,
    challenge2017_records=100,
    afpdb_subjects=12,
    ecgiddb_people=20,
    cpsc2021_people=24,
    cpsc2021_minutes=2.0,
)
SEEDS = (1, 2, 3, 4)
RECORDS = 100
HIGHPASS = signal.butter(5, 0.5, "highpass", fs=100, output="sos")

FloatArray = npt.NDArray[np.float64]
Lead = tuple[FloatArray, int]
RealData = Callable[[str], Path]


def wfdb_leads(paths: Iterable[Path], order: tuple[str, ...]) -> Iterator[Lead]:
    for path in sorted(paths):
        read = wfdb.rdrecord(str(path.with_suffix("")))
        name = next(name for name in order if name in read.sig_name)
        yield read.p_signal[:, read.sig_name.index(name)], int(read.fs)


def challenge_leads(root: Path) -> Iterator[Lead]:
    """Yield records at the natural shares of the classes, whatever the shares in the folder."""
    lines = (root / "training/REFERENCE-v3.csv").read_text().splitlines()
    labels = dict(line.split(",") for line in lines)
    for label, share in SHARES.items():
        keys = [key for key, value in labels.items() if value == label]
        for key in keys[: round(share * RECORDS)]:
            yield io.loadmat(root / "training" / f"{key}.mat")["val"][0] / 1000.0, 300


def leads(name: str, root: Path) -> Iterator[Lead]:
    if name == "challenge2017":
        return challenge_leads(root)
    if name == "ecgiddb":
        return wfdb_leads(root.glob("Person_*/*.hea"), ("ECG I",))
    if name == "cpsc2021":
        return wfdb_leads(root.glob("Training_set_*/*.hea"), ("II",))
    return wfdb_leads(root.glob("*.hea"), ("MLII", "V5", "ECG0"))


def chain(lead: FloatArray, fs: int) -> FloatArray:
    """Return the lead as the pipeline stores it: 100 Hz, high-passed, z-normalised."""
    ratio = Fraction(100, fs)
    slow = signal.resample_poly(lead, ratio.numerator, ratio.denominator)
    clean = signal.sosfiltfilt(HIGHPASS, slow)
    return np.asarray((clean - clean.mean()) / clean.std())


def class_shares(signals: list[FloatArray]) -> dict[str, float]:
    """Return the shares of the Zhao & Zhang classes; the scores equal those of NeuroKit2."""
    cut = [s[: len(s) // 1000 * 1000].reshape(-1, 1000) for s in signals]
    codes = score_windows(np.concatenate(cut).astype(np.float32))[0].quality
    return {quality.value: float(np.mean(codes == i)) for i, quality in enumerate(Quality)}


def median_rate(signals: list[FloatArray]) -> float:
    """Return the median over recordings of the median heart rate, per minute."""
    beats = [sleepecg.detect_heartbeats(s[:12000], 100) for s in signals]
    return float(np.median([6000.0 / np.median(np.diff(b)) for b in beats if len(b) > 3]))


def synthetic(name: str, root: Path, real: Path) -> Iterator[Lead]:
    """Yield the leads of every seed; of mitdb the records that are there in reality."""
    for seed in SEEDS:
        settings, folder = SETTINGS.model_copy(update={"seed": seed}), root / str(seed)
        there = tuple(path.stem for path in real.glob("*.hea"))
        for record in there if name == "mitdb" else DATASETS[name].records(settings):
            DATASETS[name].write_record(folder, settings, record)
        DATASETS[name].write_tables(folder, settings)
        yield from leads(name, folder)


def afib_share(path: Path, seconds: float) -> float:
    """Return the share of a record's time that its rhythm notes call AFib."""
    notes = wfdb.rdann(str(path), "atr")
    changes = [
        (x, note.strip("\0"))
        for x, note in zip(notes.sample, notes.aux_note, strict=True)
        if note.startswith("(")
    ]
    fs = wfdb.rdheader(str(path)).fs
    ends = [x for x, _ in changes[1:]] + [seconds * fs]
    spans = zip(changes, ends, strict=True)
    return float(sum(end - x for (x, note), end in spans if note == "(AFIB") / (seconds * fs))


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("mitdb", "mitdb"),
        ("challenge2017", "challenge-2017"),
        ("afpdb", "afpdb"),
        ("ecgiddb", "ecgiddb"),
        ("cpsc2021", "cpsc2021"),
    ],
)
def test_quality_and_heart_rate_are_those_of_the_real_set(
    name: str, folder: str, real_data: RealData, tmp_path: Path
) -> None:
    real = real_data(folder)
    true = [chain(*lead) for lead in leads(name, real)]
    made = [chain(*lead) for lead in synthetic(name, tmp_path, real)]
    assert median_rate(made) == pytest.approx(median_rate(true), abs=10.0)
    assert class_shares(made) == pytest.approx(class_shares(true), abs=0.10)


def test_mitdb_has_the_real_share_of_afib(real_data: RealData, tmp_path: Path) -> None:
    real = real_data("mitdb")
    for name in AFIB_RECORDS:
        DATASETS["mitdb"].write_record(tmp_path, SETTINGS, name)
    true = [afib_share(real / name, 650000 / 360) for name in AFIB_RECORDS]
    made = [afib_share(tmp_path / name, 300.0) for name in AFIB_RECORDS]
    assert np.mean(made) == pytest.approx(np.mean(true), abs=0.10)


def test_afdb_has_the_real_share_of_afib_in_every_record(
    real_data: RealData, tmp_path: Path
) -> None:
    real = real_data("afdb-annotations")
    names = DATASETS["afdb"].records(SETTINGS)
    for name in names:
        DATASETS["afdb"].write_record(tmp_path, SETTINGS, name)
    true = [afib_share(real / name, 9205760 / 250) for name in names]
    made = [afib_share(tmp_path / name, 360.0) for name in names]
    assert made == pytest.approx(true, abs=0.10)
