"""Conversion of physical dimensions to millivolt."""

from __future__ import annotations

_MILLIVOLTS = {
    "V": 1e3, "VOLT": 1e3, "VOLTS": 1e3, "MV": 1.0, "MILLIVOLT": 1.0, "MILLIVOLTS": 1.0,
    "UV": 1e-3, "MICROVOLT": 1e-3, "MICROVOLTS": 1e-3, "NV": 1e-6,
}  # fmt: skip
_MICRO_SIGNS = ("µ", "μ", "\ufffd")

UNKNOWN_UNIT = "unknown unit read as mV"
"""The note on a unit that is no voltage. It does not quote the unit: a header that is out of
place has a name there."""


def millivolts_per(unit: str) -> tuple[float, str | None]:
    """Return how many mV one ``unit`` is, and a note where the unit is unknown.

    A unit that is not a voltage is read as mV: the stored signal is normalised by its own
    recording, so only ``mean_mv`` and ``std_mv`` depend on it.
    """
    key = unit.strip(" \0\t")  # no other sign that looks like a space: it is damage
    for sign in _MICRO_SIGNS:
        key = key.replace(sign, "u")
    scale = _MILLIVOLTS.get(key.upper())
    return (1.0, UNKNOWN_UNIT) if scale is None else (scale, None)
