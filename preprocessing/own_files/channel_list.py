"""The channels of a file, for the person who asks for them: nothing of this is stored."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

from preprocessing.channels import pick_channel, printable_label
from preprocessing.recording import UnreadableRecordingError


class ChannelRow(NamedTuple):
    """One channel as its header has it, and whether it is read as the ECG."""

    label: str
    fs: float
    is_read: bool


def list_channels(path: Path, labels: tuple[str, ...]) -> list[ChannelRow]:
    """Return the channels of the file with which a recording is opened.

    Raises
    ------
    UnreadableRecordingError
        If its header cannot be read.
    """
    match path.suffix.lower():
        case ".edf" | ".bdf":
            channels = _edf_channels(path)
        case ".hea":
            channels = _wfdb_channels(path)
        case _:
            channels = _mne_channels(path)
    try:
        chosen, _ = pick_channel([label for label, _ in channels], labels)
    except UnreadableRecordingError:
        chosen = -1
    return [
        ChannelRow(printable_label(label), fs, n == chosen)
        for n, (label, fs) in enumerate(channels)
    ]


def _edf_channels(path: Path) -> list[tuple[str, float]]:
    from preprocessing.formats.edf import read_edf_header

    header = read_edf_header(path)
    return [
        (label, n / header.record_s) for label, n in zip(header.labels, header.samples, strict=True)
    ]


def _wfdb_channels(path: Path) -> list[tuple[str, float]]:
    from preprocessing.formats.wfdb_header import read_wfdb_header
    from preprocessing.formats.wfdb_record import segment_headers

    header = read_wfdb_header(path)
    segments = [read_wfdb_header(segment) for segment in segment_headers(path)]
    signals = [signal for part in (header, *segments) for signal in part.signals]
    rates = {signal.name: header.fs * signal.samples_per_frame for signal in signals}
    return list(rates.items())


def _mne_channels(path: Path) -> list[tuple[str, float]]:
    import mne

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            raw = mne.io.read_raw(path, preload=False, verbose="ERROR")
        except Exception:  # whatever the library raises, its text may quote the header
            raise UnreadableRecordingError(f"{path}: its header cannot be read") from None
    return [(name, float(raw.info["sfreq"])) for name in raw.ch_names]
