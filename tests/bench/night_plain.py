"""The plain chain: mne with include, scipy, and NeuroKit2's quality for each window."""

from __future__ import annotations

import json
import sys
import time

import mne
import neurokit2 as nk
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.signal import butter, resample_poly, sosfiltfilt


def main(path: str) -> None:
    """Process one night and print the seconds it took."""
    started = time.perf_counter()
    raw = mne.io.read_raw_edf(path, include=["ECG"], verbose="ERROR")
    fs = int(raw.info["sfreq"])
    signal = resample_poly(raw.get_data()[0] * 1e3, 100, fs)
    filtered = sosfiltfilt(butter(5, 0.5, "highpass", fs=100, output="sos"), signal)
    z = (filtered - filtered.mean()) / filtered.std()
    windows = z[: z.size // 1000 * 1000].reshape(-1, 1000)
    quality = [nk.ecg_quality(w, sampling_rate=100, method="zhao2018") for w in windows]
    table = {"quality": quality, "signal": list(windows.astype(np.float32))}
    pq.write_table(pa.table(table), path + ".plain.parquet")
    print(json.dumps({"s": time.perf_counter() - started, "windows": len(windows)}))


if __name__ == "__main__":
    main(sys.argv[1])
