"""MATLAB v4 files with one row of 16-bit samples, as Challenge 2017 ships them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

INT16_LITTLE_ENDIAN = 30


def write_val(path: Path, units: npt.NDArray[np.int16]) -> None:
    """Write the variable ``val``, one row, behind the 24 bytes that the headers skip."""
    start = struct.pack("<5i", INT16_LITTLE_ENDIAN, 1, len(units), 0, len("val") + 1)
    path.write_bytes(start + b"val\0" + units.astype("<i2").tobytes())
