"""Synthetic SHHS: nights of sixteen channels in EDF, two visits for most subjects."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
from edfio import Edf, EdfSignal, Patient, Recording

from preprocessing.config import SynthSettings
from preprocessing.synth import recording as synth
from preprocessing.synth.dataset import SynthDataset
from preprocessing.synth.seeding import rng_for
from preprocessing.synth.shhs import subjects as people
from preprocessing.synth.shhs.channels import AFTER_ECG, BEFORE_ECG, Channel, channel_values
from preprocessing.synth.shhs.scorings import write_scorings
from preprocessing.synth.shhs.subjects import Visit
from preprocessing.synth.shhs.tables import write_tables

ECG_RANGE_MV = (-1.25, 1.25)
EIGHT_BITS = (-128, 127)
SIXTEEN_BITS = (-32768, 32767)


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
    """Write ``polysomnography/edfs/shhs<visit>/<name>.edf`` and the two scorings beside it.

    The header names nobody and no day; the start is a fixed time of the evening.
    """
    visit = Visit(int(name.split("-")[1]), int(name[4]))
    folder = root / "polysomnography" / "edfs" / f"shhs{visit.number}"
    folder.mkdir(parents=True, exist_ok=True)
    night = people.make_night(settings, visit)
    edf = Edf(
        _signals(settings, visit, night),
        patient=Patient(),
        recording=Recording(),
        starttime=datetime.time(22, 30, 0),
        data_record_duration=1.0,
    )
    edf.write(folder / f"{name}.edf")
    if night.sleep is not None:
        duration_s = night.segments[-1].end_s
        differ = people.scorings_differ(visit)
        write_scorings(root, name, visit.number, night.sleep, duration_s=duration_s, differ=differ)


SHHS = SynthDataset("shhs", records, write_record, write_tables)
