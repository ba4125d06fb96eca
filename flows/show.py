"""Pictures of what is in the store: a night, windows, a subject's visits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deaps.evaluation.document import NightPage, Strip
from deaps.report.nights import night_page
from deaps.report.strips import strip
from deaps.terminal_pictures import night_lines, stacked, strip_lines
from flows.config import Settings
from storage.errors import DeapsError
from storage.files import slug
from storage.snapshot import open_index
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

_WINDOWS_OF = re.compile(r"(?P<name>.+):(?P<rows>\d+(,\d+)*)")

_RECORDINGS = """
SELECT recording_id, dataset, name, subject, visit, recordings.n_windows, synthetic
FROM recordings JOIN datasets USING (dataset)
WHERE status = 'ok' AND recordings.n_windows > 0
  AND ({column} = $name OR dataset || '/' || {column} = $name)
ORDER BY dataset, visit, name
"""
_WINDOW = """
SELECT start_s, quality::VARCHAR, stage::VARCHAR, hr_mean, time_of_day::VARCHAR
FROM windows WHERE recording_id = $recording_id AND "row" = $row
"""
_LIST = """
SELECT dataset, name, subject, visit, n_windows, round(duration_s / 3600, 2) AS hours
FROM recordings WHERE status = 'ok' AND n_windows > 0 ORDER BY dataset, name
"""
_TYPICAL = """
SELECT "row" FROM passed_windows WHERE recording_id = $recording_id
ORDER BY quality, abs(ksqi - (
    SELECT median(ksqi) FROM passed_windows WHERE recording_id = $recording_id
)), "row" LIMIT 1
"""


Drawing = tuple[Callable[..., None], tuple[float, float]]
"""What draws on an empty figure, and its size in pixels."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with its title and a name for its files."""

    title: str
    name: str
    drawing: Callable[[], Drawing]
    """Returns what draws it, and its size in pixels: loading matplotlib takes a second."""
    lines: Callable[[int], list[str]]
    """Returns the same for a terminal of so many columns."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What was drawn: the lines for the terminal, and the files that were written."""

    lines: list[str]
    paths: list[Path]


@dataclass(frozen=True, slots=True)
class _Found:
    recording_id: int
    dataset: str
    name: str
    subject: str
    visit: int
    n_windows: int
    synthetic: bool

    @property
    def title(self) -> str:
        return f"{self.dataset}/{self.name}{self.mark}"

    @property
    def mark(self) -> str:
        """Say of a made recording that nobody was recorded."""
        return " (synthetic)" if self.synthetic else ""


def show(
    settings: Settings,
    what: str,
    encoder: Path | str | None,
    out: Path | None,
    *,
    files: bool = True,
    width: int = 80,
) -> Shown:
    """Draw ``what``: as text for a terminal of ``width`` columns and, with ``files``, into files.

    ``what`` is a recording (its night), a recording with rows after a colon (those windows), or
    a subject (its visits). Without ``out`` a PNG and an SVG are written into the working folder.
    """
    root = settings.store.root
    with open_index(root) as index:
        picture = _picture(index, root, what, encoder, files)
    lines = [picture.title, *picture.lines(width)]
    return Shown(lines, _write_files(picture, out) if files else [])


def _write_files(picture: Picture, out: Path | None) -> list[Path]:
    from deaps.report.svg import FORMATS, write_picture

    paths = [out] if out else [Path(picture.name + ending) for ending in FORMATS]
    draw, size = picture.drawing()
    for path in paths:
        write_picture(draw, size, path, title=picture.title)
    return paths


def list_recordings(root: Path) -> list[dict[str, Any]]:
    """Return what there is to show: a row for each recording with windows."""
    with open_index(root) as index:
        cursor = index.execute(_LIST)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _picture(
    index: DuckDBPyConnection, root: Path, what: str, encoder: Path | str | None, files: bool
) -> Picture:
    if (match := _WINDOWS_OF.fullmatch(what)) and (
        found := _recordings(index, match["name"], "name")
    ):
        return _windows(index, root, found[0], [int(row) for row in match["rows"].split(",")])
    if found := _recordings(index, what, "name"):
        return _night(index, root, found[0], encoder, with_embeddings=files)
    if found := _recordings(index, what, "subject"):
        return _visits(index, root, found)
    raise DeapsError(
        f"no recording or subject {what!r} with windows in {root}; for example: "
        f"{', '.join(_examples(index)) or 'the index is empty'}"
    )


def _recordings(index: DuckDBPyConnection, name: str, column: str) -> list[_Found]:
    rows = index.execute(_RECORDINGS.format(column=column), {"name": name}).fetchall()
    return [_Found(*row) for row in rows]


def _examples(index: DuckDBPyConnection) -> list[str]:
    sql = "SELECT name FROM recordings WHERE n_windows > 0 AND status = 'ok' ORDER BY name LIMIT 3"
    return [name for (name,) in index.execute(sql).fetchall()]


def _night(
    index: DuckDBPyConnection,
    root: Path,
    found: _Found,
    encoder: Path | str | None,
    *,
    with_embeddings: bool,
) -> Picture:
    page = night_page(
        index,
        found.recording_id,
        title=found.title,
        representation=_representation(encoder) if with_embeddings else "",
        embeddings=_embeddings(index, root, found, encoder) if with_embeddings else None,
    )
    title = f"{found.title}, visit {found.visit}"
    lines = partial(night_lines, page)
    return Picture(title, slug(found.name), partial(_night_drawing, page), lines)


def _representation(encoder: Path | str | None) -> str:
    if encoder is None:
        return "the shipped encoder"
    from deaps.models.encoder_file import encoder_name

    return encoder_name(encoder)


def _night_drawing(page: NightPage) -> Drawing:
    from deaps.report.nights import night_page_drawing

    return night_page_drawing(page)


def _embeddings(
    index: DuckDBPyConnection, root: Path, found: _Found, encoder: Path | str | None
) -> NDArray[np.float32]:
    # Imported here: torch takes seconds, and pictures of windows need none of it.
    from deaps.embed import embed_windows
    from deaps.models.encoder_file import (
        encoder_file,
        load_encoder,
        normalisation_of,
        require_chain_of_store,
    )

    file = encoder_file(encoder)
    require_chain_of_store(file, index, "recording_id = $id", id=found.recording_id)
    windows = WindowStore(root, normalise=normalisation_of(file))
    return embed_windows(load_encoder(file), windows.read_recording(found.recording_id))


def _windows(index: DuckDBPyConnection, root: Path, found: _Found, rows: list[int]) -> Picture:
    if beyond := [row for row in rows if row >= found.n_windows]:
        raise DeapsError(
            f"{found.title} has no window {beyond[0]}; its rows are 0 to {found.n_windows - 1}"
        )
    strips = [_strip(index, root, found, row) for row in rows]
    listed = "-".join(map(str, rows))
    return _strips_picture(strips, found.title, f"{slug(found.name)}-{listed}")


def _visits(index: DuckDBPyConnection, root: Path, found: list[_Found]) -> Picture:
    """Return a typical window of each visit: the median kSQI of the best class that it has."""
    strips = []
    for recording in found:
        ((row,),) = index.execute(_TYPICAL, {"recording_id": recording.recording_id}).fetchall()
        shown = _strip(index, root, recording, row)
        caption = f"visit {recording.visit}, {recording.name}: {shown.caption}"
        strips.append(shown.model_copy(update={"caption": caption}))
    title = f"{found[0].dataset}, subject {found[0].subject}{found[0].mark}"
    return _strips_picture(strips, title, f"{slug(found[0].subject)}-visits")


def _strips_picture(strips: list[Strip], title: str, name: str) -> Picture:
    return Picture(title, name, partial(_strips_drawing, strips), partial(_strips_lines, strips))


def _strips_drawing(strips: list[Strip]) -> Drawing:
    from deaps.report.strips import strip_stack_drawing

    return strip_stack_drawing(strips)


def _strips_lines(strips: list[Strip], width: int) -> list[str]:
    return stacked([strip_lines(strip, width) for strip in strips])


def _strip(index: DuckDBPyConnection, root: Path, found: _Found, row: int) -> Strip:
    values: dict[str, Any] = {"recording_id": found.recording_id, "row": row}
    ((start_s, quality, stage, rate, clock),) = index.execute(_WINDOW, values).fetchall()
    (signal,) = WindowStore(root).read([found.recording_id], [row])
    words = [
        f"row {row}",
        f"{start_s / 60:.1f} min",
        *([clock[:8]] if clock else []),
        *([f"stage {stage}"] if stage else []),
        quality,
        *([f"{rate:.0f} beats/min"] if rate is not None else []),
    ]
    return strip(", ".join(words), signal)
