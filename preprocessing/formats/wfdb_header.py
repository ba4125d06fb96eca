"""WFDB headers, read strictly: a field that is needed is a number or the header is refused.

The library reads a rate of -360 as 250 and a length of 1e308 as 1, and refuses a missing length,
a signal file in a sub-folder and a date before the time. Dates and comments are not read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from preprocessing.formats.numbers import parse_number, parse_whole
from preprocessing.recording import UnreadableRecordingError

DEFAULT_GAIN = 200.0
DEFAULT_FS = 250.0
GAP = "~"
"""Name of a signal file or segment that is not there."""

_FORMAT = re.compile(r"(?P<fmt>\d+)(x(?P<spf>\d+))?(:(?P<skew>-?\d+))?(\+(?P<offset>\d+))?")
_GAIN = re.compile(r"(?P<gain>[^(/]+)(\((?P<baseline>[^)]*)\))?(/(?P<unit>.*))?")
_HEADER = "WFDB header: "
_CLOCK = re.compile(r"(\d{1,2}:){0,2}\d{1,2}(\.\d*)?")
_DAY_S = 86_400
_MOST_SIGNALS = 10_000
_MOST_BYTES = 16 << 20
"""Of a header: 100,000 segments take 3 MB."""


@dataclass(frozen=True, slots=True)
class WfdbSignal:
    """One signal of a record; what the header leaves out has WFDB's default, or None."""

    file: str
    fmt: str
    samples_per_frame: int = 1
    skew: int = 0
    byte_offset: int = 0
    gain_text: str = ""
    adc_zero_text: str = ""
    initial_text: str = ""
    checksum_text: str = ""
    name: str = ""

    def calibration(
        self, *, default_gain: float = DEFAULT_GAIN
    ) -> tuple[float, float, str, str | None]:
        """Return gain (digital values per unit), baseline, unit, and a note or None.

        A gain of 0 is the default, as WFDB defines; the note then says so.
        """
        match = _GAIN.fullmatch(self.gain_text) if self.gain_text else None
        if self.gain_text and match is None:
            raise UnreadableRecordingError(f"{_HEADER}gain is not a number")
        gain = parse_number(match["gain"], f"{_HEADER}gain") if match else 0.0
        if match and match["baseline"] is not None:
            baseline = parse_whole(match["baseline"], f"{_HEADER}baseline")
        else:
            baseline = self._whole(self.adc_zero_text, "ADC zero") or 0
        unit = (match and match["unit"]) or "mV"
        note = None if gain else f"not calibrated: {default_gain:g} values per {unit} are assumed"
        return gain or default_gain, float(baseline), unit, note

    @property
    def initial(self) -> int | None:
        """Value of the first sample, None where the header has none."""
        return self._whole(self.initial_text, "initial value")

    @property
    def checksum(self) -> int | None:
        """Sum of the samples in 16 bits, None where the header has none."""
        return self._whole(self.checksum_text, "checksum")

    @staticmethod
    def _whole(text: str, what: str) -> int | None:
        return parse_whole(text, _HEADER + what) if text else None


@dataclass(frozen=True, slots=True)
class WfdbHeader:
    """A record: its rate, its length (None: as long as its files) and its signals or segments."""

    fs: float
    n_samples: int | None
    signals: tuple[WfdbSignal, ...] = ()
    segments: tuple[tuple[str, int], ...] = ()
    clock_s: float | None = None
    """Time of day at the start, in seconds after midnight; the date is not read."""


def read_wfdb_header(path: Path) -> WfdbHeader:
    """Return the header in a ``.hea`` file.

    Raises
    ------
    UnreadableRecordingError
        If it is missing, or not a header.
    """
    if not path.exists():
        raise UnreadableRecordingError("signal file without its header")
    lines = header_lines(path)
    if not lines or len(fields := lines[0].split()) < 2:
        raise UnreadableRecordingError("not a WFDB header: no record line")
    n_segments = fields[0].partition("/")[2]
    n_signals = _count(fields[1], "number of signals", most=_MOST_SIGNALS)
    fs = _rate(fields[2]) if len(fields) > 2 else DEFAULT_FS
    n_samples = _count(fields[3], "number of samples") if len(fields) > 3 else 0
    if n_segments:
        count = _count(n_segments, "number of segments", most=100_000)
        segments = tuple(map(_segment, _rows(lines, count, "segments")))
        return WfdbHeader(fs, n_samples or None, segments=segments, clock_s=_clock(fields))
    signals = tuple(map(_signal, _rows(lines, n_signals, "signals")))
    return WfdbHeader(fs, n_samples or None, signals, clock_s=_clock(fields))


def _clock(fields: list[str]) -> float | None:
    """Return the time of day of a record line; None for midnight, which stands for no time.

    WFDB writes "hh:mm:ss", "mm:ss" or "ss", with or without fractions of a second.
    """
    if len(fields) < 5 or not _CLOCK.fullmatch(fields[4]):
        return None
    seconds = 0.0
    for part in fields[4].split(":"):
        seconds = 60 * seconds + float(part)
    return seconds or None if seconds < _DAY_S else None


def header_lines(path: Path) -> list[str]:
    """Return the lines of a header that are neither empty nor comments."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", header_text(path))]
    return [line for line in lines if line and not line.startswith("#")]


def header_text(path: Path) -> str:
    """Return the text of a header file, comments and all."""
    if path.stat().st_size > _MOST_BYTES:
        raise UnreadableRecordingError(
            f"not a WFDB header: it has more than {_MOST_BYTES >> 20} MB"
        )
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:  # of an older system
        return data.decode("latin-1")


def safe_file_name(name: str) -> str:
    """Return the name of a signal file below the header's folder; refuse any other place."""
    if not is_below(name):
        raise UnreadableRecordingError(
            "signal file: the header names a file outside its own folder; put it next to the header"
        )
    return name


def file_beside(header_path: Path, name: str) -> Path:
    """Return the file that a header calls ``name``; the case of letters may differ.

    Files that were copied by way of another system often have names in capitals.
    """
    path = header_path.parent / name
    try:
        if path.exists():
            return path
        for other in path.parent.iterdir():
            if other.name.lower() == path.name.lower():
                return other
    except OSError:  # the name is too long, or its folder is not there: reading it will say so
        pass
    return path


def is_below(name: str) -> bool:
    """Return whether a header's name of a file stays below the header's own folder."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name


def segment_file_name(name: str) -> str:
    """Return the file name of a segment's header; the names of segments have no folders."""
    if "/" in name:
        raise UnreadableRecordingError("segments: the name of one has a folder, as none may have")
    return f"{safe_file_name(name)}.hea"


def _rate(text: str) -> float:
    fs = parse_number(text.partition("/")[0], f"{_HEADER}sampling rate")
    if fs <= 0:
        raise UnreadableRecordingError(f"sampling rate: {fs:g} Hz is not above 0")
    return fs


def _count(text: str, what: str, *, most: int = 10**15) -> int:
    count = parse_whole(text, _HEADER + what)
    if not 0 <= count <= most:
        raise UnreadableRecordingError(f"{_HEADER}{what} is {count}, outside 0 to {most}")
    return count


def _rows(lines: list[str], count: int, what: str) -> list[str]:
    if len(lines) - 1 < count:
        raise UnreadableRecordingError(
            f"{_HEADER}cut short, it announces {count} {what} and has {len(lines) - 1}"
        )
    return lines[1 : 1 + count]


def _segment(line: str) -> tuple[str, int]:
    fields = line.split()
    length = fields[1] if len(fields) > 1 else ""
    return fields[0], _count(length, "length of a segment")


def _signal(line: str) -> WfdbSignal:
    fields = line.split(maxsplit=8)
    match = _FORMAT.fullmatch(fields[1]) if len(fields) > 1 else None
    if match is None:
        raise UnreadableRecordingError(f"{_HEADER}a signal has no format")
    fields += [""] * (9 - len(fields))
    return WfdbSignal(
        file=fields[0],
        fmt=match["fmt"],
        samples_per_frame=max(1, _count(match["spf"] or "1", "samples per frame", most=100_000)),
        skew=_count(match["skew"] or "0", "skew"),
        byte_offset=_count(match["offset"] or "0", "byte offset"),
        gain_text=fields[2],
        adc_zero_text=fields[4],
        initial_text=fields[5],
        checksum_text=fields[6],
        name=fields[8].strip(),
    )
