"""The same pictures in a terminal: plain Unicode blocks, as wide as the screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.document import NightPage, Strip
from storage.schema import Quality, Stage

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_NAMES = 24
"""Columns for the names at the left."""

_RATE_ROWS = 4
_STRIP_ROWS = 9
_LANES = [str(stage) for stage in (Stage.WAKE, Stage.REM, Stage.N1, Stage.N2, Stage.N3)]


def night_lines(night: NightPage, width: int) -> list[str]:
    """Return a night: hypnogram, events, quality and heart rate, and the hours below."""
    columns = max(10, min(width - _NAMES - 1, len(night.quality)))
    return [
        *_hypnogram(night, columns),
        *_events(night, columns),
        *_qualities(night, columns),
        *_heart_rate(night, columns),
        *_hours(night, columns),
    ]


def strip_lines(strip: Strip, width: int) -> list[str]:
    """Return a window's ECG: the range of each column's samples, in half blocks, and seconds."""
    signal = np.asarray(strip.signal, float)
    columns = max(10, width - 1)
    low, high = float(np.nanmin(signal)), float(np.nanmax(signal))
    parts = np.array_split(signal, min(columns, signal.size))
    steps = 2 * _STRIP_ROWS - 1
    scale = steps / ((high - low) or 1.0)
    cells = np.zeros((2 * _STRIP_ROWS, len(parts)), bool)
    before = None
    for place, part in enumerate(parts):
        bottom, top = ((float(end) - low) * scale for end in (np.nanmin(part), np.nanmax(part)))
        if before is not None:  # so that steep slopes stay one line
            bottom, top = min(bottom, before[1]), max(top, before[0])
        cells[round(bottom) : round(top) + 1, place] = True
        before = ((np.nanmin(part) - low) * scale, (np.nanmax(part) - low) * scale)
    caption = textwrap.wrap(strip.caption, columns)
    return [*caption, *_half_blocks(cells), _seconds(signal.size / strip.fs, len(parts))]


def _half_blocks(cells: NDArray[np.bool_]) -> Iterator[str]:
    """Yield rows of text from the top; each has two rows of cells, which count from below."""
    for row in range(len(cells) // 2 - 1, -1, -1):
        lower, upper = cells[2 * row], cells[2 * row + 1]
        yield "".join(" ▄▀█"[lo + 2 * up] for lo, up in zip(lower, upper, strict=True)).rstrip()


def _seconds(duration_s: float, columns: int) -> str:
    text = [" "] * columns
    for second in range(0, int(duration_s) + 1, 2):
        _put(text, f"{second} s", int(second / duration_s * columns))
    return "".join(text).rstrip()


def _hypnogram(night: NightPage, columns: int) -> Iterator[str]:
    """Yield a lane for each stage; a column belongs to the stage that covers most of it."""
    if not night.stages:
        return
    total_s = len(night.quality) * night.window_s
    edges = np.linspace(0, total_s, columns + 1)
    cover = {stage: np.zeros(columns) for stage in (*_LANES, "")}
    for span in night.stages:
        end = span.start_s + span.duration_s
        inside = np.minimum(edges[1:], end) - np.maximum(edges[:-1], span.start_s)
        cover[span.stage if span.stage in cover else ""] += np.clip(inside, 0, None)
    most = np.argmax(np.stack(list(cover.values())), axis=0)
    scored = np.sum(list(cover.values()), axis=0) > 0
    yield "sleep stage"
    for place, stage in enumerate(_LANES):
        yield _lane(stage, "".join("█" if on else " " for on in (most == place) & scored))


def _events(night: NightPage, columns: int) -> Iterator[str]:
    """Yield a lane for each kind of event: the more in a column, the higher its block."""
    if not night.events:
        return
    total_s = len(night.quality) * night.window_s
    yield "events, by their number"
    for kind in sorted({event.kind for event in night.events}):
        starts = [event.start_s for event in night.events if event.kind == kind]
        counts, _ = np.histogram(starts, bins=columns, range=(0, total_s))
        name = kind.replace("_", " ")
        yield _lane(name, _bars(counts / max(1, counts.max())), f"{len(starts)}")


def _qualities(night: NightPage, columns: int) -> Iterator[str]:
    """Yield a lane for each class: the share of windows in a column that have it."""
    quality = np.array(night.quality)
    yield "signal quality, share of windows"
    for name in Quality:
        shares = [float(np.mean(part == str(name))) for part in np.array_split(quality, columns)]
        whole = float(np.mean(quality == str(name)))
        yield _lane(str(name), _bars(np.array(shares)), f"{100 * whole:.0f} %")


def _heart_rate(night: NightPage, columns: int) -> Iterator[str]:
    """Yield the mean heart rate of each column, as a curve of blocks."""
    rates = np.array([np.nan if rate is None else rate for rate in night.heart_rate], float)
    parts = np.array_split(rates, columns)
    known = np.array([np.any(np.isfinite(part)) for part in parts])
    if not known.any():
        return
    means = np.array([np.nanmean(part) if ok else 0 for part, ok in zip(parts, known, strict=True)])
    low, high = float(means[known].min()), float(means[known].max())
    heights = np.where(known, 1 + (means - low) / ((high - low) or 1) * (8 * _RATE_ROWS - 1), 0)
    yield "heart rate, beats/min"
    for row in range(_RATE_ROWS - 1, -1, -1):
        eighths = np.clip(np.rint(heights - 8 * row), 0, 8).astype(int)
        name = f"{high:.0f}" if row == _RATE_ROWS - 1 else f"{low:.0f}" if row == 0 else ""
        yield _lane(name, "".join(_EIGHTHS[n] for n in eighths))


def _hours(night: NightPage, columns: int) -> Iterator[str]:
    """Yield the axis: hours, or minutes of a short recording."""
    total_s = len(night.quality) * night.window_s
    unit_s, unit = (3600, "h") if total_s > 2 * 3600 else (600, "min")
    text = [" "] * (columns + 6)
    for number in range(int(total_s / unit_s) + 1):
        shown = number if unit == "h" else 10 * number
        _put(text, f"{shown} {unit}", round(number * unit_s / total_s * columns))
    yield " " * (_NAMES + 1) + "".join(text)[:columns].rstrip()


def _put(text: list[str], mark: str, place: int) -> None:
    """Write a mark at its place, unless it would stand on another or beyond the end."""
    end = place + len(mark)
    if end <= len(text) and all(character == " " for character in text[max(0, place - 1) : end]):
        text[place:end] = mark


def _bars(shares: NDArray[np.float64]) -> str:
    """Return a block for each share; one above nothing is always seen."""
    eighths = np.where(shares > 0, np.maximum(1, np.rint(8 * shares)), 0).astype(int)
    return "".join(_EIGHTHS[n] for n in eighths)


def _lane(name: str, blocks: str, figure: str = "") -> str:
    room = _NAMES - len(figure) - 1
    return f"{_cut(name, room):>{room}} {figure} {blocks}".rstrip()


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[:room]


def stacked(pictures: Sequence[list[str]]) -> list[str]:
    """Return several pictures below each other, an empty line between them."""
    lines: list[str] = []
    for picture in pictures:
        lines += [*picture, ""]
    return lines[:-1]
