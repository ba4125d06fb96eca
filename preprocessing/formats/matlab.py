"""Challenge 2017's records: a MATLAB file of int16 samples beside a WFDB header.

The header is parsed here: older ones put the date before the time, which wfdb refuses.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from preprocessing.recording import RawRecording, UnreadableRecordingError

_DEFAULT_GAIN = 1000.0


def read_mat_lead(mat_path: Path) -> RawRecording:
    """Return the single lead of ``<record>.mat``; rate and gain come from ``<record>.hea``."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    fs, gain, n_announced, channel = parse_header(mat_path.with_suffix(".hea"))
    try:
        values = loadmat(mat_path)["val"]
    except (MatReadError, ValueError, KeyError, TypeError, OSError, NotImplementedError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        kind = type(error).__name__  # its text may quote the file
        raise UnreadableRecordingError(f"not a MATLAB file with 'val' ({kind})") from None
    if np.iscomplexobj(values) or values.ndim != 2 or min(values.shape) > 1:
        raise UnreadableRecordingError(f"not one lead: 'val' has shape {values.shape}")
    digital = np.asarray(values, dtype=np.float32).reshape(-1)
    if digital.size == 0:
        raise UnreadableRecordingError("zero length: no samples")
    signal = digital / np.float32(gain)
    return RawRecording(signal=signal, fs=fs, channel=channel, truncated=signal.size < n_announced)


def parse_header(path: Path) -> tuple[float, float, int, str]:
    """Return rate (Hz), gain (units per mV), number of samples and channel of a ``.hea`` file."""
    if not path.exists():
        raise UnreadableRecordingError(f"signal file without its header: {path.name}")
    rows = path.read_text(encoding="latin-1").splitlines()
    try:
        record, lead = rows[0].split(), rows[1].split()
        gain = re.match(r"[\d.]+", lead[2])
        return (
            float(record[2].split("/")[0]),
            float(gain.group()) if gain and float(gain.group()) > 0 else _DEFAULT_GAIN,
            int(record[3]),
            lead[8] if len(lead) > 8 else "ECG",
        )
    except (IndexError, ValueError):
        raise UnreadableRecordingError(f"not a WFDB header: {path.name}") from None
