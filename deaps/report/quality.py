"""Quality of the windows: classes by data set and visit, examples, technicians' grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray
from scipy.stats import spearmanr

from deaps.evaluation.document import (
    DatasetLabels,
    Evaluation,
    QualityCount,
    QualityExample,
    QualityGrades,
)
from deaps.report.drawing import (
    area_sign,
    name_above,
    patterned_area,
    pixel_axes,
    points,
    shortened,
    text_width,
)
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    LegendEntry,
    Panel,
    Part,
    Row,
    Section,
    SideBySide,
    Table,
)
from deaps.report.results import dataset_label, notices
from deaps.report.strips import PAPER_LINES, strip, strip_plot, strip_range
from deaps.report.svg import inline_svg
from deaps.report.theme import HATCHES, INK, N_SERIES, SERIES
from deaps.report.wording import count, percent
from storage.schema import Quality
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_COUNTS = """
SELECT r.dataset, r.visit, c.quality::VARCHAR AS quality, sum(c.n_windows)::BIGINT AS n_windows
FROM window_counts c JOIN recordings r USING (recording_id)
WHERE r.status = 'ok'
GROUP BY r.dataset, r.visit, c.quality
ORDER BY r.dataset, r.visit, c.quality
"""

# Windows that the gate rejects have a class because they have no signal, not by their indices.
_RECORDINGS = """
SELECT DISTINCT r.dataset, w.recording_id
FROM passed_windows w JOIN recordings r USING (recording_id)
WHERE w.quality = $quality
ORDER BY ALL
"""

_WINDOWS = """
SELECT "row", psqi, ksqi, bassqi FROM passed_windows
WHERE recording_id = $recording_id AND quality = $quality
ORDER BY "row"
"""


def quality_counts(index: DuckDBPyConnection) -> tuple[QualityCount, ...]:
    """Return the windows of each data set, visit and class that has any."""
    return tuple(
        QualityCount(dataset=dataset, visit=visit, quality=quality, n_windows=n_windows)
        for dataset, visit, quality, n_windows in index.execute(_COUNTS).fetchall()
    )


def quality_examples(
    index: DuckDBPyConnection,
    windows: WindowStore,
    *,
    labels: DatasetLabels,
    seed: int,
    n: int = 3,
) -> tuple[QualityExample, ...]:
    """Return n windows of each class, best class first, fewer where there are not as many.

    They come from the data sets in turn and from different recordings; captions name the data
    set and the indices, never the recording. ``windows`` must read the same snapshot.
    """
    rng = np.random.default_rng(seed)
    examples = []
    for quality in Quality:
        recordings = index.execute(_RECORDINGS, {"quality": str(quality)}).fetchall()
        for dataset, recording_id in _in_turn(recordings, rng)[:n]:
            row, caption = _any_window(index, recording_id, quality, rng)
            (signal,) = windows.read([recording_id], [row])
            shown = strip(f"{labels[dataset]}: {caption}", signal)
            examples.append(QualityExample(quality=str(quality), strip=shown))
    return tuple(examples)


def _in_turn(recordings: list[tuple[str, int]], rng: np.random.Generator) -> list[tuple[str, int]]:
    """Return recordings shuffled, one of each data set before a second of any."""
    shuffled = [recordings[i] for i in rng.permutation(len(recordings)).tolist()]
    seen: dict[str, int] = {}
    turn = []
    for dataset, _ in shuffled:
        turn.append(seen.get(dataset, 0))
        seen[dataset] = turn[-1] + 1
    return [shuffled[i] for i in np.argsort(turn, kind="stable").tolist()]


def _any_window(
    index: DuckDBPyConnection, recording_id: int, quality: Quality, rng: np.random.Generator
) -> tuple[int, str]:
    """Return the row of one window of a recording and class, and its indices in words."""
    asked = {"recording_id": recording_id, "quality": str(quality)}
    rows = index.execute(_WINDOWS, asked).fetchall()
    row, *indices = rows[int(rng.integers(len(rows)))]
    named = zip(("pSQI", "kSQI", "basSQI"), indices, strict=True)
    return row, ", ".join(f"{name} {'unknown' if x is None else f'{x:.2f}'}" for name, x in named)


DRAWS = 2000
_INTERVAL = (2.5, 97.5)
_GRADES = """
SELECT dataset, subject, grade, unacceptable_share FROM quality_grades
ORDER BY dataset, recording_id
"""


def quality_grades(
    index: DuckDBPyConnection, *, seed: int, draws: int = DRAWS
) -> tuple[QualityGrades, ...]:
    """Return the rank correlation of grade and share of Unacceptable windows, by data set.

    The better the grade, the fewer windows should be Unacceptable: a good score gives a negative
    correlation. The interval comes from draws of people, who may have two nights each.
    """
    columns = index.execute(_GRADES).fetchnumpy()
    datasets = columns["dataset"].astype(str)
    return tuple(
        _of_dataset(
            name,
            np.asarray(columns["grade"], float)[datasets == name],
            np.asarray(columns["unacceptable_share"], float)[datasets == name],
            columns["subject"].astype(str)[datasets == name],
            seed=seed,
            draws=draws,
        )
        for name in np.unique(datasets)
    )


def _of_dataset(
    dataset: str,
    grade: NDArray[np.float64],
    share: NDArray[np.float64],
    subject: NDArray[np.str_],
    *,
    seed: int,
    draws: int,
) -> QualityGrades:
    people, owner = np.unique(subject, return_inverse=True)
    rows = [np.flatnonzero(owner == k) for k in range(len(people))]
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(draws):
        chosen = np.concatenate([rows[k] for k in rng.integers(0, len(people), len(people))])
        drawn.append(spearman(grade[chosen], share[chosen]))
    finite = np.array([value for value in drawn if value is not None])
    low, high = np.percentile(finite, _INTERVAL).tolist() if len(finite) else (None, None)
    return QualityGrades(
        dataset=dataset,
        grade=tuple(grade.tolist()),
        share=tuple(share.tolist()),
        correlation=spearman(grade, share),
        low=low,
        high=high,
        subjects=len(people),
    )


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation, None where one of the two does not vary."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(spearmanr(first, second).statistic)


_WIDTH = 440
_ROW = 30
_TOP = 6
_BOTTOM = 38
_LABEL_LENGTH = 26


def quality_sign(place: int) -> tuple[str, str]:
    """Return colour and pattern of the quality class at that place."""
    return SERIES[place % N_SERIES], HATCHES[place % len(HATCHES)]


def quality_plot(rows: Sequence[tuple[str, Sequence[float]]], *, name: str, label: str) -> Markup:
    """Return a stacked bar for each row: its label, and the share of each class."""

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row[0], _LABEL_LENGTH) for row in rows]
        left = 14 + text_width(labels)
        axes = pixel_axes(figure, left=left, right=16, top=_TOP, bottom=_BOTTOM)
        axes.set(xlim=(0, 100), ylim=(len(rows) - 0.5, -0.5))
        axes.set_yticks(range(len(rows)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel("share of windows, per cent")
        axes.spines["left"].set_visible(False)
        for place, (_, shares) in enumerate(rows):
            _draw_row(axes, place, shares)

    return inline_svg(
        draw, name=name, label=label, size=(_WIDTH, _TOP + _BOTTOM + _ROW * len(rows))
    )


def _draw_row(axes: Axes, place: int, shares: Sequence[float]) -> None:
    start = 0.0
    for which, share in enumerate(shares):
        colour, hatch = quality_sign(which)
        if share > 0:
            box = (start, place - 0.3, 100 * share, 0.6)
            patterned_area(axes, box, colour=colour, hatch=hatch)
        start += 100 * share


_SIZE = (520, 240)
_JITTER = 0.18


def grades_plot(grades: QualityGrades, *, name: str, label: str) -> Markup:
    """Return a point for each recording, and a line at the median of each grade."""

    def draw(figure: MplFigure) -> None:
        axes = pixel_axes(figure, left=40, right=12, top=30, bottom=40)
        grade, share = np.array(grades.grade), 100 * np.array(grades.share)
        axes.set(
            xlim=(grade.min() - 0.6, grade.max() + 0.6), ylim=(-2, max(5.0, share.max() * 1.08))
        )
        rng = np.random.default_rng(0)
        places = grade + rng.uniform(-_JITTER, _JITTER, len(grade))
        for value in np.unique(grade):
            axes.hlines(
                np.median(share[grade == value]),
                value - 0.35,
                value + 0.35,
                colors=INK,
                linewidth=2,
            )
        points(axes, places, share, shape="circle", colour=SERIES[0], size=5, alpha=0.6)
        axes.set_xticks(np.unique(grade), [f"{value:g}" for value in np.unique(grade)])
        axes.set_xlabel("technician's grade of the heart signal")
        name_above(axes, "Unacceptable windows, per cent")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y")

    return inline_svg(draw, name=name, label=label, size=_SIZE)


_BEST_FIRST = tuple(map(str, Quality))


def quality_section(evaluation: Evaluation) -> Section:
    """Return bars and counts by data set and visit, and examples of each class."""
    counts = _counts(evaluation)
    classes = _classes(evaluation)
    parts: list[Part] = [*notices(evaluation, "quality", empty=not counts)]
    if counts:
        parts.append(SideBySide((_figure(counts, classes), _table(counts, classes))))
    parts += notices(evaluation, "quality examples", empty=not evaluation.quality_examples)
    if evaluation.quality_examples:
        parts.append(_examples(evaluation.quality_examples))
    parts += [_grades(grades, evaluation) for grades in evaluation.quality_grades]
    return Section("quality", "Signal quality", tuple(parts))


def _grades(grades: QualityGrades, evaluation: Evaluation) -> Figure:
    """Return our score against the technicians', who did not know it."""
    name = dataset_label(evaluation, grades.dataset)
    caption = (
        f"Our score against the technicians' grades of {name}: {count(len(grades.grade))} "
        f"recordings of {count(grades.subjects)} people. {_correlation(grades)}"
    )
    plot = grades_plot(
        grades,
        name=f"grades-{grades.dataset}",
        label=f"Share of Unacceptable windows by grade, {len(grades.grade)} recordings",
    )
    return Figure(f"figure-grades-{grades.dataset}", caption, (Panel(plot),))


def _correlation(grades: QualityGrades) -> str:
    if grades.correlation is None:
        return "One of the two does not vary, so there is no rank correlation."
    interval = ""
    if grades.low is not None and grades.high is not None:
        interval = f" (95 % interval over people {grades.low:.2f} to {grades.high:.2f})"
    return (
        f"Spearman's rank correlation of grade and share of Unacceptable windows is "
        f"{grades.correlation:.2f}{interval}; the better the grade, the fewer they should be."
    )


def _counts(evaluation: Evaluation) -> dict[str, dict[str, int]]:
    """Return windows of each class, by data set and visit; a single visit has no number."""
    visits: dict[str, set[int]] = {}
    for entry in evaluation.quality:
        visits.setdefault(entry.dataset, set()).add(entry.visit)
    counts: dict[str, dict[str, int]] = {}
    for entry in evaluation.quality:
        several = len(visits[entry.dataset]) > 1
        dataset = dataset_label(evaluation, entry.dataset)
        label = f"{dataset}, visit {entry.visit}" if several else dataset
        row = counts.setdefault(label, {})
        row[entry.quality] = row.get(entry.quality, 0) + entry.n_windows
    return counts


def _classes(evaluation: Evaluation) -> list[str]:
    """Return the quality classes, the best first; others follow as they come."""
    present = dict.fromkeys(entry.quality for entry in evaluation.quality)
    ordered = [name for name in _BEST_FIRST if name in present]
    return ordered + [name for name in present if name not in ordered]


def _figure(counts: dict[str, dict[str, int]], classes: list[str]) -> Figure:
    rows = []
    for label, row in counts.items():
        total = sum(row.values()) or 1
        rows.append((label, [row.get(name, 0) / total for name in classes]))
    label = f"Shares of {len(classes)} quality classes in {len(rows)} rows; figures in a table"
    legend = tuple(
        LegendEntry(area_sign(*quality_sign(place), name=f"quality-sign-{place}"), name)
        for place, name in enumerate(classes)
    )
    return Figure(
        id="figure-quality",
        caption="Quality of all windows by data set and visit.",
        panels=(Panel(quality_plot(rows, name="quality", label=label)),),
        legend=legend,
    )


def _table(counts: dict[str, dict[str, int]], classes: list[str]) -> Table:
    rows = []
    for label, row in counts.items():
        total = sum(row.values())
        cells = [Cell(count(total))]
        for name in classes:
            share = row.get(name, 0) / total if total else None
            cells.append(Cell(percent(share), note=count(row.get(name, 0))))
        rows.append(Row(label, tuple(cells)))
    return Table(
        id="table-quality",
        caption="Windows by quality class: shares in per cent, counts below.",
        corner="",
        groups=(ColumnGroup("", ("windows", *classes)),),
        bodies=(Body(tuple(rows)),),
    )


def _examples(examples: tuple[QualityExample, ...]) -> Figure:
    span = strip_range([example.strip for example in examples])
    panels = tuple(
        Panel(
            strip_plot(
                example.strip,
                span=span,
                name=f"quality-example-{place}",
                label=f"ECG of quality {example.quality}: {example.strip.caption}",
            ),
            title=example.quality,
            note=example.strip.caption,
        )
        for place, example in enumerate(examples)
    )
    caption = f"Examples of each quality class. {PAPER_LINES}"
    return Figure("figure-quality-examples", caption, panels, arrangement="wide")
