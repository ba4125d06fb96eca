"""Conversion of physical dimensions to millivolt."""

from __future__ import annotations

_MILLIVOLTS = {"V": 1e3, "MV": 1.0, "UV": 1e-3, "NV": 1e-6}
_MICRO_SIGNS = ("µ", "μ", "\ufffd")


def millivolts_per(unit: str) -> tuple[float, str | None]:
    """Return how many mV one ``unit`` is, and a note where the unit is unknown.

    A unit that is not a voltage is read as mV: the stored signal is normalised by its own
    recording, so only ``mean_mv`` and ``std_mv`` depend on it.
    """
    key = unit.strip()
    for sign in _MICRO_SIGNS:
        key = key.replace(sign, "u")
    scale = _MILLIVOLTS.get(key.upper())
    if scale is None:
        return 1.0, f"unit {unit.strip()!r} read as mV"
    return scale, None
