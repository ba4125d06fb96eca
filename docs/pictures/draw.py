"""Make the README's pictures from the demo's store: ``make pictures``, after ``make demo``.

The page of the newest report is photographed by Chromium without a window; so is a page with one
recording and its quality, which is drawn with the report's own figures.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
from PIL import Image

from deaps.evaluation.document import PAGE_NAME, Strip
from deaps.report.page import html_page
from deaps.report.parts import Figure, Panel, Section, numbered
from deaps.report.recording import Night, night_plot
from deaps.report.strips import PAPER_LINES, strip_plot, strip_range
from flows.config import load_settings
from flows.experiment.state import find_evaluation
from flows.show import show
from storage.errors import DeapsError
from storage.schema import FS, WINDOW_S, Quality
from storage.snapshot import open_index
from storage.window_store import WindowStore
from tests.deaps.report.browser import CHROMIUM, Tab, chromium

FOLDER = Path(__file__).parent
REPORT_WIDTH = 980
NIGHT_WIDTH = 800
SHOWN_WIDTH = 1200
NIGHT_TITLE = "Every 10 s of a night, with its quality (synthetic data)"
_TIDY = """
document.querySelectorAll("nav").forEach((element) => element.remove());
if (document.querySelectorAll("section").length === 1)
  document.querySelectorAll("h2").forEach((element) => element.remove());
document.querySelectorAll("section").forEach((section) => { section.style.marginTop = "1rem" });
"""
"""A picture of the first section needs no contents, and a page with a single section no head."""

# Of the SHHS recordings that are mostly Excellent, the one with the most Unacceptable windows.
_RECORDING = """
SELECT recording_id, name
FROM recordings JOIN windows USING (recording_id)
WHERE dataset = 'shhs'
GROUP BY ALL
HAVING count(DISTINCT quality) = 3 AND avg((quality = 'Excellent')::INTEGER) > 0.5
ORDER BY count(*) FILTER (quality = 'Unacceptable') DESC, name
LIMIT 1
"""
_WINDOWS = """
SELECT start_s, quality::VARCHAR AS quality, hr_max
FROM windows WHERE recording_id = $recording_id ORDER BY start_s
"""
# The window with the median kSQI of its class.
_TYPICAL = """
SELECT "row" FROM windows
WHERE recording_id = $recording_id AND quality = $quality
ORDER BY ksqi NULLS FIRST
LIMIT 1 OFFSET (
    SELECT count(*) // 2 FROM windows WHERE recording_id = $recording_id AND quality = $quality
)
"""


def main(store: Path) -> None:
    """Write show.png, report.png and night.png beside this file."""
    if CHROMIUM is None:
        raise DeapsError("no chromium in the path; install it: apt-get install chromium")
    write_shown(store)
    report = find_evaluation(store, None) / PAGE_NAME
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder)) as tab:
        night = Path(folder) / "night.html"
        sections = numbered([night_section(store)])
        night.write_text(html_page(NIGHT_TITLE, sections))
        tab.set_theme("light")
        write_picture(tab, report, REPORT_WIDTH, "header", "#table-accuracy-1", name="report.png")
        write_picture(tab, night, NIGHT_WIDTH, "header", "#night figcaption", name="night.png")


def write_shown(store: Path) -> None:
    """Write what ``deaps show`` draws of a night."""
    settings = load_settings(overrides=[f"store.root={store}"])
    with open_index(store) as index:
        _, name, _ = read_night(index)
    with tempfile.TemporaryDirectory() as folder:
        (path,) = show(settings, name, None, Path(folder) / "show.png").paths
        picture = Image.open(path)
        height = round(picture.height * SHOWN_WIDTH / picture.width)
        save_small(picture.resize((SHOWN_WIDTH, height)), "show.png")


def night_section(store: Path) -> Section:
    """Return one recording: quality and heart rate along time, and a window of each class."""
    classes = [str(quality) for quality in Quality]
    with open_index(store) as index:
        recording_id, name, night = read_night(index)
        rows = [typical_row(index, recording_id, quality) for quality in classes]
    signals = WindowStore(store).read([recording_id] * len(rows), rows)
    strips = [Strip(caption="", fs=FS, signal=tuple(map(float, signal))) for signal in signals]
    marks = [night.start_min[row] + night.window_min / 2 for row in rows]
    label = f"Quality class and heart rate of {len(night.quality)} windows"
    course = Panel(
        night_plot(night, classes, marks, name="night-course", label=label),
        title=f"{name}, synthetic",
        note=f"{len(night.quality)} windows",
    )
    panels = strip_panels(strips, classes, marks)
    caption = f"Synthetic data. A typical window of each class (median kSQI). {PAPER_LINES}"
    figure = Figure("night-figure", caption, (course, *panels), arrangement="wide")
    return Section("night", "Quality", (figure,))


def strip_panels(
    strips: Sequence[Strip], classes: Sequence[str], minutes: Sequence[float]
) -> list[Panel]:
    """Return the strips with their numbers, on one scale."""
    span = strip_range(strips)
    shown = zip(strips, classes, minutes, strict=True)
    return [
        Panel(
            strip_plot(strip, span=span, name=f"night-strip-{number}", label=quality),
            title=f"{number}  {quality}",
            note=f"{WINDOW_S} s, {minute:.0f} min from the start",
        )
        for number, (strip, quality, minute) in enumerate(shown, start=1)
    ]


def read_night(index: duckdb.DuckDBPyConnection) -> tuple[int, str, Night]:
    """Return id, name and windows of the recording that is shown."""
    chosen = index.execute(_RECORDING).fetchone()
    if chosen is None:
        raise DeapsError("no SHHS recording is mostly Excellent and has all classes; run make demo")
    recording_id, name = chosen
    columns = index.execute(_WINDOWS, {"recording_id": recording_id}).fetchnumpy()
    night = Night(
        start_min=columns["start_s"] / 60,
        window_min=WINDOW_S / 60,
        quality=columns["quality"].astype(str),
        heart_rate=np.ma.filled(columns["hr_max"].astype(float), np.nan),
    )
    return recording_id, name, night


def typical_row(index: duckdb.DuckDBPyConnection, recording_id: int, quality: str) -> int:
    """Return the row of a typical window of a quality class."""
    wanted = {"recording_id": recording_id, "quality": quality}
    ((row,),) = index.execute(_TYPICAL, wanted).fetchall()
    return row


def write_picture(tab: Tab, page: Path, width: int, first: str, last: str, *, name: str) -> None:
    """Write what a page shows from one element to another as a small PNG."""
    tab.set_screen(width, width)
    tab.open(page.resolve())
    tab.evaluate(_TIDY)
    save_small(Image.open(io.BytesIO(tab.picture(first, last))), name)


def save_small(picture: Image.Image, name: str) -> None:
    """Save a picture with 256 colours."""
    small = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=0)
    small.save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
