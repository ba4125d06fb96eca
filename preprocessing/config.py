"""Settings of the signal chain, the quality score and the synthetic cohort.

Each default, unit and explanation of a setting lives here and nowhere else. What changes a
window file is in `SignalSettings` and `QualitySettings`; their digest is part of its name.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from preprocessing.channels import ANY_ECG, ECG_ALIASES
from storage.config import SettingsSection

WINDOWS_VERSION = 1
"""Raise this when windows of ordinary recordings change so much that an encoder that was trained
on the older ones must not be used on the new ones."""

STEP_VERSIONS = {
    "plausibility": 1, "gate": 3, "bridge": 1, "resample": 2, "highpass": 1, "normalise": 1,
    "quality": 2, "beats": 1, "rhythm": 1,
}  # fmt: skip
READER_VERSIONS = {"edf": 1, "wfdb": 2, "mat": 2, "mne": 1}
"""Versions of each step of the chain, and of the reader of each format. Raise one when its output
changes for unchanged settings and files: golden tests ask for it, and recordings that it made are
then made again."""

SCORING_VERSION = 3
"""Raise this when the readers make other stages or events of unchanged files."""

TABLES_VERSION = 2
"""Raise this when cohort tables are understood otherwise: they are then read again."""

_FORMATS = {".edf": "edf", ".bdf": "edf", ".hea": "wfdb", ".mat": "mat"}
_READERS = {"edf": "EDF", "wfdb": "WFDB", "mat": "MATLAB files", "mne": "GDF, BrainVision and FIF"}


OLDEST_COLUMNS = {"quality": 2, "beats": 1}
"""Versions of the steps from which on window files have the columns that the index has now."""


def versions_of(dataset_version: int, file: str) -> str:
    """Return the versions of all that makes windows of a recording that is opened by ``file``."""
    reader = _FORMATS.get(PurePosixPath(file).suffix.lower(), "mne")
    versions = {
        "windows": WINDOWS_VERSION,
        "dataset": dataset_version,
        f"reader.{reader}": READER_VERSIONS[reader],
        **STEP_VERSIONS,
    }
    return " ".join(f"{name}={version}" for name, version in versions.items())


def changed_versions(before: str | None, now: str, dataset: str) -> str:
    """Return in words what is of another version, such as ``reader of WFDB, gate``."""
    if before is None:
        return "readers and signal chain"
    old, new = (dict(part.split("=") for part in text.split()) for text in (before, now))
    words = {f"reader.{name}": f"reader of {label}" for name, label in _READERS.items()}
    words |= {"dataset": f"reader of {dataset}", "windows": "signal chain"}
    return ", ".join(words.get(name, name) for name in new if old.get(name) != new[name])


def lacks_columns(versions: str | None) -> bool:
    """Return whether windows of these versions lack columns that the index has now."""
    made = dict(part.split("=") for part in (versions or "").split())
    return any(int(made.get(step, 0)) < oldest for step, oldest in OLDEST_COLUMNS.items())


def _listed(value: Any) -> Any:
    """Return one label as a list of it."""
    return [value] if isinstance(value, str) else value


class SignalSettings(SettingsSection):
    """From source samples to filtered 100 Hz windows."""

    channels: Annotated[
        tuple[str, ...], BeforeValidator(_listed), Field(strict=False, min_length=1)
    ] = ECG_ALIASES
    """Labels of an ECG lead, the preferred first, for data sets without a fixed lead. With this
    list any other label that says ECG (``EKG-R``, ``Lead II``) is taken, too, where none of these
    is there; with a list of your own none is."""

    channels_add: Annotated[tuple[str, ...], BeforeValidator(_listed), Field(strict=False)] = ()
    """Labels of an ECG lead to try last. Another list redoes only the recordings that were set
    aside because they had no ECG channel, and those that were read by a label that is gone."""

    highpass_hz: Annotated[float, Field(gt=0, lt=50)] = 0.5
    """Cut-off of the Butterworth high-pass, in Hz."""

    highpass_order: Annotated[int, Field(ge=1, le=10)] = 5
    """Order of the high-pass for one of its two passes (forward, backward)."""

    fix_polarity: bool = False
    """Invert recordings whose polarity score is negative."""

    def labels(self) -> tuple[str, ...]:
        """Return all labels in the order in which they are tried."""
        loose = (ANY_ECG,) if self.channels == ECG_ALIASES else ()
        return (*self.channels, *loose, *self.channels_add)


class QualitySettings(SettingsSection):
    """Gate before the quality indices, and when two detectors agree on a beat."""

    beat_tolerance_s: Annotated[float, Field(gt=0)] = 0.15
    """Two detectors agree on a beat when they place it within this time, in seconds."""

    flat_s: Annotated[float, Field(ge=0.1, le=10)] = 2.0
    """A window is flat when its source samples stay unchanged for this long, in seconds."""

    clip_share: Annotated[float, Field(gt=0, le=1)] = 0.05
    """A window is clipped when this share of its source samples lies on the recording's rails."""

    clip_run: Annotated[int, Field(ge=2)] = 3
    """Samples on a rail count as clipped in runs of at least this many."""


class CohortSettings(SettingsSection):
    """The cohorts' own tables, and what of them goes into the index."""

    subjects: Annotated[
        Path | None, Field(strict=False), AfterValidator(lambda path: path and path.expanduser())
    ] = None
    """Table of subjects of ``data.folder``, where it cannot lie in that folder, such as
    ``/home/me/subjects.csv``; by default ``subjects.csv`` in the folder."""

    columns: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Variables of the cohorts' tables that become columns of ``subjects``, such as ``bmi_s1`` or
    ``ahi_a0h3a``; each must be in a table of a configured data set."""


class SynthSettings(SettingsSection):
    """The synthetic cohort: how much of each data set, and the seed."""

    seed: int = 20240501
    """Seed of every random choice."""

    shhs_subjects: Annotated[int, Field(ge=0)] = 12
    """Subjects of the synthetic SHHS; one in six has only one visit."""

    shhs_hours: Annotated[float, Field(gt=0)] = 1.0
    """Length of a synthetic night, in hours."""

    mitdb_records: Annotated[int, Field(ge=0, le=48)] = 10
    """Records of the synthetic MIT-ARR: the eight with AFib first, then 114 and 102."""

    mitdb_minutes: Annotated[float, Field(gt=0)] = 30.0
    """Length of a synthetic MIT-ARR record, in minutes."""

    afdb_records: Annotated[int, Field(ge=0, le=25)] = 6
    """Records of the synthetic MIT-AFIB; 00735 and 03665, without signals, come last."""

    afdb_hours: Annotated[float, Field(gt=0)] = 1.0
    """Length of a synthetic MIT-AFIB record, in hours."""

    challenge2017_records: Annotated[int, Field(ge=0)] = 120
    """Training records of the synthetic Challenge 2017; a sixth of them is validation too."""

    afpdb_subjects: Annotated[int, Field(ge=0, le=50)] = 6
    """Subjects of the synthetic PAF Prediction set, two half hours of one recording each."""

    ecgiddb_people: Annotated[int, Field(ge=0, le=90)] = 20
    """People of the synthetic ECG-ID set, two or more sessions of 20 s each."""

    cpsc2021_people: Annotated[int, Field(ge=0, le=105)] = 0
    """People of the synthetic CPSC 2021, two or more records each; the parts take turns."""

    cpsc2021_minutes: Annotated[float, Field(gt=0)] = 4.0
    """Length of a synthetic CPSC 2021 record, in minutes; each has 0.65 to 1.6 times as much."""
