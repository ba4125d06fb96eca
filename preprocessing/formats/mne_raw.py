"""BDF, GDF, BrainVision and FIF files, through mne."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from preprocessing.channels import ECG_ALIASES, pick_channel
from preprocessing.plausibility import Claims, check_claims
from preprocessing.recording import RawRecording, UnreadableRecordingError

_MILLIVOLTS_PER_VOLT = np.float32(1e3)


def read_mne_lead(path: Path, aliases: tuple[str, ...] = ECG_ALIASES) -> RawRecording:
    """Return the ECG lead of any file that ``mne.io.read_raw`` reads; only that lead is loaded."""
    # Imported here: most data sets never need mne.
    import mne

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            raw = mne.io.read_raw(path, preload=False, verbose="ERROR")
        except Exception:  # whatever the library raises, its text may quote the header
            if not path.exists():
                raise FileNotFoundError from None
            raise UnreadableRecordingError(_damaged(path)) from None
        index, note = pick_channel(raw.ch_names, aliases)
        fs = float(raw.info["sfreq"])
        check_claims(Claims(fs, int(raw.n_times)))
        try:
            volts = raw.get_data(picks=[index])[0]
        except Exception:
            raise UnreadableRecordingError(_damaged(path)) from None
    if volts.size == 0:
        raise UnreadableRecordingError("zero length: no samples")
    return RawRecording(
        signal=volts.astype(np.float32) * _MILLIVOLTS_PER_VOLT,
        fs=fs,
        channel=raw.ch_names[index],
        notes=(note,) if note else (),
    )


def _damaged(path: Path) -> str:
    return f"not a {path.suffix[1:].upper()} file: its header or samples are damaged or cut short"
