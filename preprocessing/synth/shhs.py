"""Synthetic SHHS: EDF recordings, their channels and the tables of subjects."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import edfio
import numpy as np
import numpy.typing as npt
from edfio import Edf, EdfSignal, Patient
from scipy import signal

from preprocessing.config import SynthSettings
from preprocessing.synth import recording as synth
from preprocessing.synth import shhs_nights as people
from preprocessing.synth.recording import Recording, SynthDataset, rng_for
from preprocessing.synth.shhs_nights import Visit, write_scorings
from storage.schema import BREATHING_EVENTS, EventKind, Sex

ECG_RANGE_MV = (-1.25, 1.25)
EIGHT_BITS = (-128, 127)
SIXTEEN_BITS = (-32768, 32767)
FloatArray = npt.NDArray[np.float64]
BLOCK_S = 120
"""Brain, eye and chin signals repeat after this many seconds, at another strength each time."""
_BANDS = {"EEG": (0.5, 14.0), "EEG(sec)": (0.5, 14.0), "EOG(L)": (0.3, 4.0), "EOG(R)": (0.3, 4.0)}
_BREATHING = {"AIRFLOW": 0.0, "NEW AIR": 0.1, "THOR RES": 0.3, "ABDO RES": 0.5}
"""Delay of each breathing channel behind the lungs, in s."""
VERSION = "0.20.0"
YEARS_BETWEEN_VISITS = 5
OLDEST_SHOWN = 90
NOTES = ("", "", "café au lait before bed", "naïve sleeper", "")
"""Free text; its accents are single bytes in windows-1252 and break a reader that takes UTF-8."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of the EDF: label, rate in Hz, unit and physical range."""

    label: str
    fs: int
    unit: str
    low: float
    high: float


BEFORE_ECG = (
    Channel("SaO2", 1, "%", 0.0, 100.0),
    Channel("H.R.", 1, "bpm", 0.0, 250.0),
    Channel("EEG(sec)", 125, "uV", -125.0, 125.0),
)


AFTER_ECG = (
    Channel("EMG", 125, "uV", -31.5, 31.5),
    Channel("EOG(L)", 50, "uV", -125.0, 125.0),
    Channel("EOG(R)", 50, "uV", -125.0, 125.0),
    Channel("EEG", 125, "uV", -125.0, 125.0),
    Channel("SOUND", 10, "", -1.0, 1.0),
    Channel("AIRFLOW", 10, "", -1.0, 1.0),
    Channel("THOR RES", 10, "", -1.0, 1.0),
    Channel("ABDO RES", 10, "", -1.0, 1.0),
    Channel("POSITION", 1, "", 0.0, 3.0),
    Channel("LIGHT", 1, "", 0.0, 1.0),
    Channel("NEW AIR", 10, "", -1.0, 1.0),
    Channel("OX stat", 1, "", 0.0, 3.0),
)


def _tiled(channel: Channel, seconds: int, rng: np.random.Generator) -> FloatArray:
    """Return band-limited noise of a fifth of the range, repeated at changing strength."""
    band = _BANDS.get(channel.label, (0.2 * channel.fs, 0.45 * channel.fs))
    white = rng.standard_normal(BLOCK_S * channel.fs)
    sos = signal.butter(1, band, "band", fs=channel.fs, output="sos")
    block = signal.sosfilt(sos, white)
    repeats = -(-seconds // BLOCK_S)
    strength = 0.1 * channel.high * rng.uniform(0.5, 1.5, (repeats, 1)) / block.std()
    return np.asarray((strength * block).ravel()[: seconds * channel.fs])


def _heart_rate(night: Recording, seconds: int) -> FloatArray:
    beats = night.beats
    if len(beats.time_s) == 0:
        return np.zeros(seconds)
    return np.interp(np.arange(seconds), beats.time_s, 60.0 / beats.rr_s)


def _saturation(night: Recording, seconds: int, rng: np.random.Generator) -> FloatArray:
    """Return about 96 % with a dip of some percent for each scored desaturation."""
    dip = np.zeros(seconds)
    for event in night.sleep.events if night.sleep else ():
        if event.kind is EventKind.DESATURATION:
            part = dip[round(event.start_s) : round(event.end_s)]
            part += rng.uniform(3.0, 8.0) * signal.windows.hann(len(part))
    return np.asarray(96.0 - dip + 0.3 * rng.standard_normal(seconds))


def _stays(values: list[float], seconds: int, rng: np.random.Generator) -> FloatArray:
    """Return a state that changes about twice an hour."""
    turns = np.cumsum(rng.random(seconds) < 2.0 / 3600.0)
    return rng.choice(values, int(turns[-1]) + 1)[turns]


def channel_values(
    channel: Channel, night: Recording, seconds: int, rng: np.random.Generator
) -> FloatArray:
    """Return the values of one channel in its unit, ``seconds`` times its rate of them."""
    time_s = np.arange(seconds * channel.fs) / channel.fs
    if channel.label in _BREATHING:
        breath = night.course.at("breath", time_s - _BREATHING[channel.label])
        return 0.35 * breath + 0.02 * rng.standard_normal(len(time_s))
    if channel.label == "H.R.":
        return _heart_rate(night, seconds)
    if channel.label == "SaO2":
        return _saturation(night, seconds, rng)
    if channel.label == "POSITION":
        return _stays([0.0, 1.0, 2.0, 3.0], seconds, rng)
    if channel.label in ("LIGHT", "OX stat"):
        return _stays([0.0, 0.0, 0.0, 1.0], seconds, rng)
    return _tiled(channel, seconds, rng)


def _gender(seed: int, nsrrid: int) -> str:
    if not people.sex_is_known(nsrrid):
        return ""
    return "1" if people.subject_of(seed, nsrrid).sex is Sex.MALE else "2"


def _age(seed: int, visit: Visit) -> int:
    age = int(people.subject_of(seed, visit.nsrrid).age)
    return min(OLDEST_SHOWN, age + YEARS_BETWEEN_VISITS * (visit.number - 1))


def _body_mass(seed: int, visit: Visit) -> str:
    rng = rng_for(seed, "shhs", str(visit.nsrrid), "bmi")
    return f"{rng.normal(28.0, 4.0) + 0.5 * (visit.number - 1):.2f}"


def _apnea_index(settings: SynthSettings, visit: Visit) -> str:
    """Return the apneas and hypopneas for each hour of sleep that the night's scoring has."""
    night = people.sleep_of(settings, visit)
    events = sum(event.kind in BREATHING_EVENTS for event in night.events)
    return f"{3600.0 * events / night.sleep_s:.2f}" if night.sleep_s else ""


def visit_row(settings: SynthSettings, visit: Visit) -> dict[str, object]:
    """Return a subject's row in the table of one visit; without a file there is no grade."""
    seed = settings.seed
    grade_name = "hrqual" if visit.number == 1 else "quhr"
    has_file = visit.number == 1 or people.has_second_edf(visit.nsrrid)
    return {
        "nsrrid": visit.nsrrid,
        "pptid": visit.nsrrid - people.FIRST_ID + 1,
        f"age_s{visit.number}": _age(seed, visit),
        "gender": _gender(seed, visit.nsrrid),
        f"bmi_s{visit.number}": _body_mass(seed, visit),
        "ahi_a0h3a": _apnea_index(settings, visit) if has_file else "",
        grade_name: people.quality_grade(seed, visit) if has_file else "",
        "comment": NOTES[visit.nsrrid % len(NOTES)],
    }


def harmonised_row(seed: int, visit: Visit) -> dict[str, object]:
    """Return a subject's row in the table that NSRR makes alike for all its cohorts."""
    sex = people.subject_of(seed, visit.nsrrid).sex.value
    return {
        "nsrrid": visit.nsrrid,
        "visitnumber": visit.number,
        "nsrr_age": _age(seed, visit),
        "nsrr_sex": sex if people.sex_is_known(visit.nsrrid) else "not reported",
        "nsrr_bmi": _body_mass(seed, visit),
    }


def _write_csv(path: Path, rows: Iterable[dict[str, object]]) -> None:
    rows = list(rows)
    with path.open("w", encoding="windows-1252", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the two visits' tables and the harmonised one into ``datasets/``."""
    folder, seed = root / "datasets", settings.seed
    folder.mkdir(parents=True, exist_ok=True)
    first = [Visit(nsrrid, 1) for nsrrid in people.ids(settings)]
    second = [Visit(v.nsrrid, 2) for v in first if people.has_second_row(v.nsrrid)]
    for number, visits in ((1, first), (2, second)):
        rows = [visit_row(settings, visit) for visit in visits]
        if rows:
            _write_csv(folder / f"shhs{number}-dataset-{VERSION}.csv", rows)
    both = [harmonised_row(seed, visit) for visit in (*first, *second)]
    _write_csv(folder / f"shhs-harmonized-dataset-{VERSION}.csv", both)


def records(settings: SynthSettings) -> tuple[str, ...]:
    """Return the names of the EDF files, e.g. ``shhs1-200001``."""
    return tuple(visit.name for visit in people.visits(settings))


def to_edf_signal(
    values: np.ndarray[tuple[int], np.dtype[np.float32 | np.float64]],
    channel: Channel,
    digital: tuple[int, int],
) -> EdfSignal:
    """Return a channel in whole units; what lies beyond the physical range stays on its rail."""
    scale = (digital[1] - digital[0]) / (channel.high - channel.low)
    units = np.rint((values - channel.low) * values.dtype.type(scale)) + digital[0]
    return EdfSignal.from_digital(
        np.clip(units, *digital).astype(np.int16),
        channel.fs,
        label=channel.label,
        physical_dimension=channel.unit,
        physical_range=(channel.low, channel.high),
        digital_range=digital,
    )


def _signals(settings: SynthSettings, visit: Visit, night: synth.Recording) -> list[EdfSignal]:
    """Return all channels in the order of the real files; those of the first visit have 8 bits."""
    fs = people.sampling_rate(visit)
    digital = EIGHT_BITS if visit.number == 1 else SIXTEEN_BITS
    seconds = night.mv.shape[1] // fs

    def other(channel: Channel) -> EdfSignal:
        rng = rng_for(settings.seed, "shhs", visit.name, channel.label)
        return to_edf_signal(channel_values(channel, night, seconds, rng), channel, digital)

    ecg = to_edf_signal(night.mv[0], Channel("ECG", fs, "mV", *ECG_RANGE_MV), digital)
    return [*map(other, BEFORE_ECG), ecg, *map(other, AFTER_ECG)]


def write_record(root: Path, settings: SynthSettings, name: str) -> None:
    """Write ``polysomnography/edfs/shhs<visit>/<name>.edf`` and the two scorings next to it.

    The header names nobody and no day; the start is a fixed time of the evening.
    """
    visit = Visit(int(name.split("-")[1]), int(name[4]))
    folder = root / "polysomnography" / "edfs" / f"shhs{visit.number}"
    folder.mkdir(parents=True, exist_ok=True)
    night = people.make_night(settings, visit)
    edf = Edf(
        _signals(settings, visit, night),
        patient=Patient(),
        recording=edfio.Recording(),
        starttime=datetime.time(22, 30, 0),
        data_record_duration=1.0,
    )
    edf.write(folder / f"{name}.edf")
    if night.sleep is not None:
        duration_s = night.segments[-1].end_s
        differ = people.scorings_differ(visit)
        write_scorings(root, name, visit.number, night.sleep, duration_s=duration_s, differ=differ)


SHHS = SynthDataset("shhs", records, write_record, write_tables)
