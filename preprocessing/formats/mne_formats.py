"""Formats that MNE reads: BrainVision and others; one lead."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.channels import ECG_ALIASES, pick_channel
from preprocessing.formats.wfdb_header import safe_file_name
from preprocessing.plausibility import Claims, check_claims, millivolts_per
from preprocessing.recording import RawRecording, UnreadableRecordingError

_MILLIVOLTS_PER_VOLT = 1e3
_CUT = "Invalid tag with only"
"""So mne's warning of a FIF file starts that ends too early."""
_NAMED = re.compile(r"^[ \t]*(DataFile|MarkerFile)[ \t]*=[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_MOST_BYTES = 1 << 20


def read_mne_lead(path: Path, aliases: tuple[str, ...] = ECG_ALIASES) -> RawRecording:
    """Return the ECG lead of any file that ``mne.io.read_raw`` reads; only that lead is loaded."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        raw = _open(path)
        index, note = pick_channel(raw.ch_names, aliases)
        fs = float(raw.info["sfreq"])
        check_claims(Claims(fs, int(raw.n_times)))
        try:
            volts = raw.get_data(picks=[index])[0]
        except Exception:
            raise UnreadableRecordingError(_damaged(path)) from None
    if volts.size == 0:
        raise UnreadableRecordingError("zero length: no samples")
    scale, unit_note = _scale(raw, raw.ch_names[index])
    return RawRecording(
        signal=volts.astype(np.float32) * np.float32(scale),
        fs=fs,
        channel=raw.ch_names[index],
        truncated=any(str(warning.message).startswith(_CUT) for warning in warned),
        notes=tuple(text for text in (note, unit_note) if text),
    )


def _open(path: Path) -> Any:
    """Return a file as mne opens it, without its samples; refuse one that needs files elsewhere."""
    # Imported here: most data sets never need mne.
    import mne

    names = named_files(path) if path.suffix.lower() == ".vhdr" else {}
    try:
        raw = mne.io.read_raw(path, preload=False, verbose="WARNING")
    except Exception:  # whatever the library raises, its text may quote the header
        if not path.exists():
            raise FileNotFoundError from None
        raise UnreadableRecordingError(_damaged(path)) from None
    expected = {each.resolve() for each in (path, *(path.parent / name for name in names.values()))}
    if not expected.issuperset(Path(file).resolve() for file in raw.filenames if file):
        # A change of the others would go unnoticed, and each would be read once more by itself.
        raise UnreadableRecordingError(
            "parts: it goes on in other files; join them with mne and save them as one file"
        )
    return raw


def _scale(raw: Any, channel: str) -> tuple[float, str | None]:
    """Return what turns mne's values into mV, and a note where the unit is unknown.

    mne hands out volts, and takes any unit that it does not know for volts.
    """
    unit = getattr(raw, "_orig_units", {}).get(channel)
    note = millivolts_per(unit)[1] if unit else None
    return (1.0, note) if note else (_MILLIVOLTS_PER_VOLT, None)


def _damaged(path: Path) -> str:
    return f"not a {path.suffix[1:].upper()} file: its header or samples are damaged or cut short"


def named_files(header: Path) -> dict[str, str]:
    """Return the files that a header names, as ``DataFile`` and ``MarkerFile``.

    People rename files, so that these need not have the header's own name.

    Raises
    ------
    UnreadableRecordingError
        If one of them is outside the header's folder, or the file is too large for a header.
    """
    if header.stat().st_size > _MOST_BYTES:
        raise UnreadableRecordingError("not a VHDR file: it is too large for a header")
    text = header.read_text(encoding="utf-8", errors="replace")
    names: dict[str, str] = {}
    for key, name in _NAMED.findall(text):
        if name:
            names.setdefault(key, safe_file_name(name))
    return names
