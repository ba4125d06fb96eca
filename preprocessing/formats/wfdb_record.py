"""WFDB records: samples of one lead, over all segments, and the rhythms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from preprocessing.channels import ECG_ALIASES, NO_CHANNEL, pick_channel
from preprocessing.formats.numbers import signed_24_bits
from preprocessing.formats.wfdb_annotations import read_annotations
from preprocessing.formats.wfdb_header import (
    GAP,
    WfdbHeader,
    WfdbSignal,
    file_beside,
    header_text,
    is_below,
    read_wfdb_header,
    safe_file_name,
    segment_file_name,
)
from preprocessing.plausibility import (
    RATES_HZ,
    Claims,
    check_claims,
    check_length,
    checksum_note,
    initial_note,
    length_note,
    millivolts_per,
    reading_bytes,
    require_memory,
)
from preprocessing.recording import (
    RawRecording,
    RhythmChange,
    UnreadableRecordingError,
    rhythm_changes,
)

COMPRESSED = ("508", "516", "524")
_GROUPS = {
    "8": (1, 1), "16": (1, 2), "24": (1, 3), "32": (1, 4), "61": (1, 2), "80": (1, 1),
    "160": (1, 2), "212": (2, 3), "310": (3, 4), "311": (3, 4),
}  # fmt: skip
"""For each format, how many samples lie in how many bytes."""
_LIKELY_FORMATS = ("16", "212", "24", "32", "80", "310")
"""One format of each size, the most frequent of it."""
_BITS = {"80": 8, "508": 8, "310": 10, "311": 10, "212": 12, "24": 24, "524": 24, "32": 32}
_FRAMES_AT_ONCE = 12 * 40_000
"""A multiple of 12, so that blocks of every format begin at a whole byte."""


def read_wfdb_lead(
    header_path: Path, aliases: tuple[str, ...] = ECG_ALIASES, *, note_others: bool = True
) -> RawRecording:
    """Return the ECG lead of the record whose ``.hea`` file is given.

    With ``note_others`` a note lists the other ECG leads; a data set with a fixed order of leads
    needs none.

    A signal file that is shorter than its header announces keeps its whole samples and is marked
    ``truncated``. A gain of 0 means the default, 200 units per mV, as WFDB defines. The gaps of a
    record of several segments hold NaN.
    """
    header = read_wfdb_header(header_path)
    if header.segments:
        raw, note = _read_segments(header_path, header, aliases)
    else:
        index, note = _pick(header, aliases)
        raw = _read_lead(header_path, header, index)
    raw = replace(raw, clock_s=header.clock_s)
    return replace(raw, notes=(note, *raw.notes)) if note and note_others else raw


def read_rhythms(
    header_path: Path, *, duration_s: float
) -> tuple[tuple[RhythmChange, ...], tuple[str, ...]]:
    """Return the rhythm changes of the ``.atr`` file next to a header, and notes on odd ones."""
    path = file_beside(header_path, header_path.stem + ".atr")
    if not path.is_file():  # a pipe would be waited for
        return (), ("no annotation file",)
    try:
        # The header's rate is that of frames, in which annotations count; a lead may have more.
        found = read_annotations(path, read_wfdb_header(header_path).fs)
    except UnreadableRecordingError as error:
        return (), (f"{error}: no labels",)
    changes, notes = rhythm_changes(found.texts)
    if found.last_s > duration_s:
        late = sum(change.start_s >= duration_s for change in changes)
        rhythms = f": {late} rhythms have no window" if late else ""
        notes += (f"annotations after the signal's end{rhythms}",)
    return changes, notes


def header_comments(header_path: Path) -> list[str]:
    """Return the comment lines of a header, without their ``#``."""
    lines = header_text(header_path).splitlines()
    return [line[1:].strip() for line in lines if line.startswith("#")]


def signal_file_names(header_path: Path) -> tuple[str, ...]:
    """Return the files that a header names, each once, in order: signal files or segments.

    A segment is named by its header, followed by its own signal files. Names are those on the
    disk, which may differ in case. A file outside the header's folder is left out: nobody may
    open it, also not to hash it.
    """
    header = read_wfdb_header(header_path)
    names = [signal.file for signal in header.signals]
    for segment in segment_headers(header_path):
        names.append(segment.name)
        names += [signal.file for signal in read_wfdb_header(segment).signals]
    below = dict.fromkeys(name for name in names if name != GAP and is_below(name))
    folder = header_path.parent
    present = (file_beside(header_path, name).relative_to(folder) for name in below)
    return tuple(dict.fromkeys(path.as_posix() for path in present))


def segment_headers(header_path: Path) -> list[Path]:
    """Return the headers of a record's segments that are there."""
    segments = read_wfdb_header(header_path).segments
    paths = (file_beside(header_path, segment_file_name(name)) for name, _ in segments)
    return [path for path in paths if path.is_file()]


@dataclass(frozen=True, slots=True)
class _SignalFile:
    """Where the samples of one signal lie: its file, and its place in the file's frames."""

    path: Path
    signal: WfdbSignal
    per_frame: int
    column: int

    def frames(self, n_frames: int) -> Iterator[NDArray[np.int64]]:
        """Yield blocks of the digital values of the first ``n_frames`` frames."""
        return read_frames(
            self.path,
            self.signal,
            per_frame=self.per_frame,
            column=self.column,
            n_frames=n_frames,
        )


def _pick(header: WfdbHeader, aliases: tuple[str, ...]) -> tuple[int, str | None]:
    if not header.signals:
        raise UnreadableRecordingError("header without its signal file: it names no signal")
    return pick_channel([signal.name for signal in header.signals], aliases)


def _read_lead(header_path: Path, header: WfdbHeader, index: int) -> RawRecording:
    file = _signal_file(header_path, header, index)
    signal = header.signals[index]
    gain, baseline, unit, gain_note = signal.calibration()
    per_unit, unit_note = millivolts_per(unit)
    if signal.fmt in COMPRESSED:
        present = header.n_samples or 0  # these files check their own length
        n_all = sum(other.samples_per_frame for other in header.signals)
        require_memory(reading_bytes(present * n_all, header.fs))  # the library decodes them all
    else:
        present = count_frames(file.path, file.signal, file.per_frame, header.n_samples)
        _check_format(file, header.n_samples)
    n_frames = min(present, header.n_samples or present)
    if n_frames <= 0:
        raise UnreadableRecordingError("zero length: the signal file is empty")
    n_memory = (n_frames + signal.skew) * signal.samples_per_frame
    fs = header.fs * signal.samples_per_frame
    check_claims(Claims(fs, n_memory, per_unit / gain, unit_note is None))
    is_whole = n_frames == (header.n_samples or n_frames)
    values, first, total = _physical(header_path, file, n_frames, per_unit / gain, baseline)
    count_note = length_note(header.n_samples or present, present, "samples")
    start_note = None
    if not signal.skew and signal.fmt != "8":  # their first values are not in the file
        start_note = initial_note(signal.initial, signal.checksum, first)
    if start_note and (count_note or not is_whole):
        raise UnreadableRecordingError(
            f"signal file: it has {present:,} samples of format {signal.fmt}, the header announces "
            f"{header.n_samples:,}, and {start_note}; format or file are wrong"
        )
    sum_note = checksum_note(signal.checksum, total) if is_whole and not signal.skew else None
    return RawRecording(
        signal=_deskewed(values, signal.skew * signal.samples_per_frame),
        fs=fs,
        channel=signal.name,
        truncated=not is_whole,
        notes=tuple(filter(None, (gain_note, unit_note, count_note, start_note, sum_note))),
    )


def _check_format(file: _SignalFile, n_frames: int | None) -> None:
    """Refuse a file whose size says that it has another format than its header."""
    other = matching_format(file.path, file.signal, (n_frames or 0) * file.per_frame)
    if other and n_frames:
        raise UnreadableRecordingError(
            f"signal format: the header says {file.signal.fmt}, but the file has the size of "
            f"{n_frames:,} samples of format {other}"
        )


def _signal_file(header_path: Path, header: WfdbHeader, index: int) -> _SignalFile:
    signal = header.signals[index]
    if signal.file == GAP:
        raise UnreadableRecordingError("header without its signal file: the lead has none")
    path = file_beside(header_path, safe_file_name(signal.file))
    if not path.is_file():
        raise UnreadableRecordingError(
            f"header without its signal file: {_shown_file(header_path, signal.file)}"
        )
    sharing = [other for other in header.signals if other.file == signal.file]
    if any(other.fmt != signal.fmt for other in sharing):
        raise UnreadableRecordingError("WFDB header: one signal file has two formats")
    before = [other for other in header.signals[:index] if other.file == signal.file]
    # The offset stands at the first signal of a file, at least.
    placed = replace(signal, byte_offset=sharing[0].byte_offset)
    return _SignalFile(
        path,
        placed,
        per_frame=sum(other.samples_per_frame for other in sharing),
        column=sum(other.samples_per_frame for other in before),
    )


def _shown_file(header_path: Path, name: str) -> str:
    """Return a signal file's name for a reason; only one like the header's own is shown."""
    stem = header_path.stem
    if Path(name).stem == stem:
        return name
    shown = f"the one that {header_path.name} names"
    like_header = file_beside(header_path, stem + Path(name).suffix)
    if is_below(name) and like_header.is_file():
        shown += f"; {like_header.name} is there: were both renamed? Change the name in the header"
    return shown


def _physical(
    header_path: Path, file: _SignalFile, n_frames: int, scale: float, baseline: float
) -> tuple[NDArray[np.float32], int, int]:
    """Return the samples in mV, and the first and the sum of the digital ones."""
    missing = missing_value(file.signal.fmt)
    compressed = file.signal.fmt in COMPRESSED
    blocks = _decompress(header_path, file) if compressed else file.frames(n_frames)
    values = np.empty(n_frames * file.signal.samples_per_frame, np.float32)
    firsts, total, start = [], 0, 0
    for digital in blocks:
        firsts.append(int(digital[0, 0]))
        total += int(digital.sum())
        block = (digital - np.float32(baseline)) * np.float32(scale)
        block[digital == missing] = np.nan
        values[start : start + block.size] = block.reshape(-1)
        start += block.size
    return values, firsts[0], total


def _decompress(header_path: Path, file: _SignalFile) -> Iterator[NDArray[np.int64]]:
    """Yield the samples of a FLAC file, which the library decodes."""
    import wfdb

    try:
        stem = str(header_path.with_suffix(""))
        record = wfdb.rdrecord(stem, physical=False, smooth_frames=False)
    except Exception:  # a library's own error may quote the header
        raise UnreadableRecordingError("signal file: its compressed samples are damaged") from None
    names = [record.file_name[i] for i in range(record.n_sig)]
    position = next(
        i
        for i, name in enumerate(names)
        if name == file.signal.file and record.sig_name[i] == file.signal.name
    )
    digital = record.e_d_signal[position].astype(np.int64)
    yield digital.reshape(-1, file.signal.samples_per_frame)


def _deskewed(values: NDArray[np.float32], skew: int) -> NDArray[np.float32]:
    """Return the samples at their own times: a skewed signal was stored too late."""
    if skew == 0:
        return values
    shifted = np.full_like(values, np.nan)
    shifted[: max(0, values.size - skew)] = values[skew:]
    return shifted


def _read_segments(
    header_path: Path, header: WfdbHeader, aliases: tuple[str, ...]
) -> tuple[RawRecording, str | None]:
    """Return the lead of a record of several segments, NaN where one has none, and a note."""
    n_samples = sum(length for _, length in header.segments)
    # A frame may hold several samples of the lead, so that its own rate is known only later.
    check_claims(Claims(max(header.fs, RATES_HZ[0]), n_samples))
    pieces: list[RawRecording | int] = []
    lead, note = None, None
    for name, length in header.segments:
        piece, piece_note = _read_segment(header_path, header.fs, (name, length), aliases, lead)
        lead = lead or (piece.channel if isinstance(piece, RawRecording) else None)
        note = note or piece_note
        if length:
            pieces.append(piece)
    raw = _joined(header.fs, pieces)
    check_length(raw.signal.size, raw.fs)
    if n_samples != (header.n_samples or n_samples):
        sum_note = (
            f"segments: they have {n_samples:,} samples, the header says {header.n_samples:,}"
        )
        raw = replace(raw, notes=(*raw.notes, sum_note))
    return raw, note


def _read_segment(
    header_path: Path,
    fs: float,
    segment: tuple[str, int],
    aliases: tuple[str, ...],
    lead: str | None,
) -> tuple[RawRecording | int, str | None]:
    """Return a segment's lead, or just its length where it has none; and a note."""
    name, length = segment
    if name == GAP or length == 0:  # a length of 0 describes the layout alone
        return length, None
    path = file_beside(header_path, segment_file_name(name))
    header = read_wfdb_header(path)
    if header.segments or header.fs != fs:
        raise UnreadableRecordingError(
            "segments: one has segments of its own, or another sampling rate"
        )
    try:
        index, note = _pick(header, (lead,) if lead else aliases)
    except UnreadableRecordingError:
        return length, None
    raw = _read_lead(path, replace(header, n_samples=length), index)
    return replace(raw, signal=_padded(raw.signal, length * round(raw.fs / fs))), note


def _padded(signal: NDArray[np.float32], length: int) -> NDArray[np.float32]:
    """Return a segment with NaN for what is missing: the segments after it keep their times."""
    return np.pad(signal, (0, length - signal.size), constant_values=np.nan)


def _joined(fs: float, pieces: list[RawRecording | int]) -> RawRecording:
    read = [piece for piece in pieces if isinstance(piece, RawRecording)]
    if not read:
        raise UnreadableRecordingError(f"{NO_CHANNEL}: no segment has one")
    rates = {piece.fs for piece in read}
    if len(rates) > 1:
        raise UnreadableRecordingError("segments: the lead has another sampling rate in one")
    rate = rates.pop()
    per_frame = round(rate / fs)
    n_frames = sum(p if isinstance(p, int) else p.signal.size // per_frame for p in pieces)
    require_memory(reading_bytes(n_frames * per_frame, rate))
    signals = [
        piece.signal
        if isinstance(piece, RawRecording)
        else np.full(piece * per_frame, np.nan, np.float32)
        for piece in pieces
    ]
    check_claims(Claims(rate, sum(signal.size for signal in signals)))
    return RawRecording(
        signal=np.concatenate(signals),
        fs=rate,
        channel=read[0].channel,
        truncated=any(piece.truncated for piece in read),
        notes=tuple(dict.fromkeys(note for piece in read for note in piece.notes)),
    )


def missing_value(fmt: str) -> int | None:
    """Return the digital value that means "no sample"; differences (format 8) have none."""
    return None if fmt == "8" else -(1 << (_BITS.get(fmt, 16) - 1))


def count_frames(
    path: Path, signal: WfdbSignal, per_frame: int, announced: int | None = None
) -> int:
    """Return how many whole frames of ``per_frame`` samples a signal file holds.

    Formats that pack samples pad the last group; what it holds beyond ``announced`` is no sample.
    """
    if signal.fmt not in _GROUPS:
        raise UnreadableRecordingError(f"signal format: {signal.fmt} is unknown")
    samples, n_bytes = _GROUPS[signal.fmt]
    size = max(0, path.stat().st_size - signal.byte_offset)
    # The last group may be cut after a whole sample: 12 of 24 bits lie in 2 of 3 bytes.
    present = int(size * samples / n_bytes) // per_frame
    if announced and size == -(-announced * per_frame // samples) * n_bytes:
        return announced
    return present


def matching_format(path: Path, signal: WfdbSignal, n_samples: int) -> str | None:
    """Return another format in which a file has exactly the size that its header announces.

    None where the file has that size in its own format, or in no format.
    """
    size = path.stat().st_size - signal.byte_offset
    sizes = {fmt: -(-n_samples * n_bytes // n) for fmt, (n, n_bytes) in _GROUPS.items()}
    if size == sizes.get(signal.fmt):
        return None
    return next((fmt for fmt in _LIKELY_FORMATS if sizes[fmt] == size), None)


def read_frames(
    path: Path, signal: WfdbSignal, *, per_frame: int, column: int, n_frames: int
) -> Iterator[NDArray[np.int64]]:
    """Yield blocks (n, samples per frame) of one signal's digital values.

    ``column`` is where its samples begin in a frame of ``per_frame`` samples.
    """
    samples, n_bytes = _GROUPS[signal.fmt]
    carried = np.zeros(signal.samples_per_frame, np.int64) + (signal.initial or 0)
    with path.open("rb") as stream:
        stream.seek(signal.byte_offset)
        for start in range(0, n_frames, _FRAMES_AT_ONCE):
            frames = min(_FRAMES_AT_ONCE, n_frames - start)
            n_groups = -(-frames * per_frame // samples)
            data = stream.read(n_groups * n_bytes).ljust(n_groups * n_bytes, b"\0")
            values = _decode(signal.fmt, data)[: frames * per_frame].reshape(frames, per_frame)
            block = values[:, column : column + signal.samples_per_frame].astype(np.int64)
            if signal.fmt == "8":
                block = _integrate(block, carried)
                carried = np.repeat(block[-1, -1:], signal.samples_per_frame)
            yield block


def _integrate(differences: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
    summed = before[-1] + np.cumsum(differences.reshape(-1))
    return summed.reshape(differences.shape)


def _decode(fmt: str, data: bytes) -> NDArray[np.integer]:
    raw = np.frombuffer(data, np.uint8)
    match fmt:
        case "16":
            return raw.view("<i2")
        case "61":
            return raw.view(">i2")
        case "160":
            return raw.view("<u2").astype(np.int32) - (1 << 15)
        case "8":
            return raw.view(np.int8)
        case "80":
            return raw.astype(np.int16) - (1 << 7)
        case "32":
            return raw.view("<i4")
        case "24":
            return signed_24_bits(raw)
        case "212":
            return _signed(_twelve_bits(raw.reshape(-1, 3)), 12)
        case _:
            return _signed(_ten_bits(fmt, raw.view("<u4").astype(np.int64)), 10)


def _twelve_bits(parts: NDArray[np.uint8]) -> NDArray[np.int32]:
    wide = parts.astype(np.int32)
    first = wide[:, 0] | (wide[:, 1] & 0x0F) << 8
    second = wide[:, 2] | (wide[:, 1] & 0xF0) << 4
    return np.stack([first, second], axis=1).reshape(-1)


def _ten_bits(fmt: str, words: NDArray[np.int64]) -> NDArray[np.int64]:
    if fmt == "311":
        parts = [words, words >> 10, words >> 20]
    else:
        third = (words >> 11 & 0x1F) | (words >> 27 & 0x1F) << 5
        parts = [words >> 1, words >> 17, third]
    return (np.stack(parts, axis=1) & 0x3FF).reshape(-1)


def _signed(values: NDArray[np.integer], bits: int) -> NDArray[np.integer]:
    half = 1 << (bits - 1)
    return (values ^ half) - half
