"""WFDB records made for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import wfdb
from numpy.typing import NDArray


def write_record(
    folder: Path,
    name: str,
    signals: dict[str, NDArray[np.float64]],
    *,
    fs: float = 360,
    fmt: str = "212",
    comments: list[str] | None = None,
    rhythms: dict[int, str] | None = None,
) -> Path:
    """Write ``<folder>/<name>.hea``, ``.dat`` and, for rhythms by sample, ``.atr``."""
    folder.mkdir(parents=True, exist_ok=True)
    wfdb.wrsamp(
        name,
        fs=fs,
        units=["mV"] * len(signals),
        sig_name=list(signals),
        p_signal=np.stack(list(signals.values()), axis=1),
        fmt=[fmt] * len(signals),
        adc_gain=[200.0] * len(signals),
        baseline=[0] * len(signals),
        comments=comments,
        write_dir=str(folder),
    )
    if rhythms:
        wfdb.wrann(
            name,
            "atr",
            np.array(list(rhythms)),
            symbol=["+"] * len(rhythms),
            aux_note=[f"({r}\0" for r in rhythms.values()],
            fs=fs,
            write_dir=str(folder),
        )
    return folder / f"{name}.hea"
