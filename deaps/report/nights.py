"""Nights from start to end: stages, events, quality, heart rate, representation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from deaps.evaluation.document import Evaluation, NightEvent, NightPage, NightStage
from deaps.report.drawing import limits, name_above, pixel_axes, text_width
from deaps.report.parts import Figure, Panel, Section
from deaps.report.quality import quality_sign
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, RULE, SERIES
from storage.errors import DeapsError
from storage.schema import WINDOW_S, Quality, Stage

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


COMPONENTS = 3

_WINDOWS = """
SELECT quality::VARCHAR AS quality, hr_mean, flat OR clipped OR nonfinite AS rejected
FROM windows WHERE recording_id = $recording_id ORDER BY "row"
"""
_STAGES = """
SELECT start_s, duration_s, stage::VARCHAR FROM stages
WHERE recording_id = $recording_id ORDER BY start_s
"""
_EVENTS = """
SELECT start_s, duration_s, kind FROM events
WHERE recording_id = $recording_id ORDER BY start_s, kind
"""
_TYPICAL = """
SELECT recording_id, ahi_all FROM events_by_recording JOIN recordings USING (recording_id)
WHERE recordings.dataset = $dataset AND n_windows > 0 AND ahi_all IS NOT NULL
ORDER BY ahi_all, recordings.name
"""
_DATASET = """
SELECT dataset FROM stage_by_recording GROUP BY dataset ORDER BY count(*) DESC, dataset LIMIT 1
"""


def night_page(
    index: DuckDBPyConnection,
    recording_id: int,
    *,
    title: str,
    representation: str = "",
    embeddings: NDArray[np.floating] | None = None,
) -> NightPage:
    """Return one night; ``embeddings`` (n, d) are of all its windows, in order.

    The components are those of this night alone, from windows that pass the gate.
    """
    values: dict[str, Any] = {"recording_id": recording_id}
    columns = index.execute(_WINDOWS, values).fetchnumpy()
    if not len(columns["quality"]):
        raise DeapsError(f"recording {recording_id} has no windows; see the recordings table")
    return compose_night(
        title,
        quality=columns["quality"].tolist(),
        heart_rate=np.ma.filled(np.ma.asarray(columns["hr_mean"], np.float64), np.nan),
        rejected=np.asarray(columns["rejected"], bool),
        stages=index.execute(_STAGES, values).fetchall(),
        events=index.execute(_EVENTS, values).fetchall(),
        representation=representation,
        embeddings=embeddings,
    )


def compose_night(
    title: str,
    *,
    quality: Sequence[str],
    heart_rate: NDArray[np.floating],
    rejected: NDArray[np.bool_],
    stages: Iterable[tuple[float, float, str]] = (),
    events: Iterable[tuple[float, float, str]] = (),
    representation: str = "",
    embeddings: NDArray[np.floating] | None = None,
) -> NightPage:
    """Return one night from its windows, with spans of stages and events: start, length, name."""
    components = _components(embeddings, ~rejected) if embeddings is not None else ()
    return NightPage(
        title=title,
        window_s=WINDOW_S,
        quality=tuple(quality),
        heart_rate=_numbers(np.asarray(heart_rate, np.float64)),
        stages=tuple(
            NightStage(start_s=start, duration_s=length, stage=stage)
            for start, length, stage in stages
        ),
        events=tuple(
            NightEvent(start_s=start, duration_s=length, kind=kind)
            for start, length, kind in events
        ),
        representation=representation,
        components=components,
    )


def scored_dataset(index: DuckDBPyConnection) -> str | None:
    """Return the data set with the most scored recordings, None where nothing is scored."""
    row = index.execute(_DATASET).fetchone()
    return str(row[0]) if row else None


def example_nights(index: DuckDBPyConnection, dataset: str) -> list[tuple[int, float]]:
    """Return two scored nights of a data set: of the median and of the highest apnea index."""
    nights = index.execute(_TYPICAL, {"dataset": dataset}).fetchall()
    return list(dict.fromkeys([nights[len(nights) // 2], nights[-1]])) if nights else []


def _components(
    embeddings: NDArray[np.floating], passed: NDArray[np.bool_]
) -> tuple[tuple[float | None, ...], ...]:
    # Imported here: it takes half a second, and a drawing in the terminal has no components.
    from sklearn.decomposition import PCA

    n = min(COMPONENTS, int(passed.sum()) - 1, embeddings.shape[1])
    if n < 1:
        return ()
    fitted = PCA(n, svd_solver="full").fit_transform(embeddings[passed].astype(np.float64))
    scaled = fitted / np.maximum(fitted.std(axis=0), 1e-12)
    whole = np.full((len(embeddings), n), np.nan)
    whole[passed] = scaled
    return tuple(_numbers(column) for column in whole.T)


def _numbers(values: NDArray[np.float64]) -> tuple[float | None, ...]:
    """Return values for JSON, which has no NaN, with as many digits as a drawing shows."""
    return tuple(None if np.isnan(value) else round(float(value), 3) for value in values)


_WIDTH = 900
_LANE = 19
_RIGHT = 12
_HEAD = 26
"""Room above each panel for its name."""
_BOTTOM = 40
_RATE, _COMPONENT = 90, 62
_MINUTE_S, _HOUR_S, _LONG_S = 60, 3600, 7200

_STAGES_NIGHT_PAGE = [str(stage) for stage in (Stage.WAKE, Stage.REM, Stage.N1, Stage.N2, Stage.N3)]
_UNSEEN = [str(stage) for stage in (Stage.MOVEMENT, Stage.UNSCORED)]
_KIND_NAMES = {
    "obstructive_apnea": "obstructive apnea",
    "central_apnea": "central apnea",
    "mixed_apnea": "mixed apnea",
    "hypopnea": "hypopnea",
    "desaturation": "desaturation",
    "arousal": "arousal",
}
"""Kinds in the order of their lanes; others follow."""

_Lane = tuple[float, Callable[[Axes], None]]


def night_page_plot(night: NightPage, *, name: str) -> Markup:
    """Return the drawing for the page."""
    label = f"{night.title}: {len(night.quality)} windows with stages, events, quality and rate"
    draw, size = night_page_drawing(night)
    return inline_svg(draw, name=name, label=label, size=size)


def night_page_drawing(
    night: NightPage,
) -> tuple[Callable[[MplFigure], None], tuple[float, float]]:
    """Return what draws one night, and its size in pixels."""
    panels = _panels(night)
    height = sum(size + _HEAD for size, _ in panels) + _BOTTOM

    def draw(figure: MplFigure) -> None:
        left = 16 + text_width([*_lane_names(night), *_quality_classes(night)])
        top = 0.0
        for place, (size, draw_panel) in enumerate(panels):
            top += _HEAD
            axes = pixel_axes(figure, left=left, right=_RIGHT, top=top, bottom=height - top - size)
            axes.set_xlim(0, _length(night))
            draw_panel(axes)
            _finish_axis(axes, night, is_last=place == len(panels) - 1)
            top += size

    return draw, (_WIDTH, height)


def _panels(night: NightPage) -> list[_Lane]:
    panels: list[_Lane] = []
    if night.stages:
        panels.append((_LANE * len(_STAGES_NIGHT_PAGE), lambda axes: _draw_stages(axes, night)))
    if night.events:
        panels.append((_LANE * len(_kinds(night)), lambda axes: _draw_events(axes, night)))
    panels.append((_LANE * len(_quality_classes(night)), lambda axes: _draw_quality(axes, night)))
    panels.append((_RATE, lambda axes: _draw_rate(axes, night)))
    components = range(len(night.components))
    return panels + [(_COMPONENT, partial(_draw_component, night, place)) for place in components]


def _draw_stages(axes: Axes, night: NightPage) -> None:
    """Draw a line that steps from stage to stage; REM is thick, as hypnograms have it."""
    _lanes(axes, _STAGES_NIGHT_PAGE)
    name_above(axes, "sleep stage")
    times: list[float] = []
    places: list[float] = []
    for span in night.stages:
        start, end = (
            seconds / _unit_s(night) for seconds in (span.start_s, span.start_s + span.duration_s)
        )
        place = float("nan") if span.stage in _UNSEEN else _STAGES_NIGHT_PAGE.index(span.stage)
        times += [start, end]
        places += [place, place]
        if span.stage == Stage.REM:
            axes.plot(
                [start, end], [place] * 2, color=SERIES[1], linewidth=4, solid_capstyle="butt"
            )
    axes.plot(times, places, color=INK, linewidth=1.1)


def _draw_events(axes: Axes, night: NightPage) -> None:
    kinds, unit_s = _kinds(night), _unit_s(night)
    _lanes(axes, [_KIND_NAMES.get(kind, kind.replace("_", " ")) for kind in kinds])
    name_above(axes, "events")
    for place, kind in enumerate(kinds):
        bars = [
            (event.start_s / unit_s, max(event.duration_s / unit_s, _length(night) / _WIDTH))
            for event in night.events
            if event.kind == kind
        ]
        axes.broken_barh(bars, (place - 0.34, 0.68), facecolors=SERIES[place % len(SERIES)])


def _draw_quality(axes: Axes, night: NightPage) -> None:
    classes = _quality_classes(night)
    _lanes(axes, classes)
    name_above(axes, "signal quality")
    quality = np.array(night.quality)
    for place, name in enumerate(classes):
        chosen = np.flatnonzero(quality == name)
        axes.broken_barh(
            _bars(chosen, night), (place - 0.34, 0.68), facecolors=quality_sign(place)[0]
        )


def _draw_rate(axes: Axes, night: NightPage) -> None:
    values = _values(night.heart_rate)
    axes.plot(_times(night), values, color=INK, linewidth=0.9)
    axes.set_ylim(limits(values, share=0.12))
    name_above(axes, "mean heart rate of each window, beats/min")
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(axis="y")


def _draw_component(night: NightPage, place: int, axes: Axes) -> None:
    values = _values(night.components[place])
    axes.plot(_times(night), values, color=SERIES[0], linewidth=0.8)
    axes.set_ylim(-3.5, 3.5)
    axes.set_yticks([-2, 0, 2])
    axes.axhline(0, color=RULE, linewidth=0.8, zorder=0.5)
    name_above(axes, f"component {place + 1} of {night.representation}, in its standard deviations")


def _lanes(axes: Axes, names: Sequence[str]) -> None:
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", labelcolor=INK)
    for place in range(len(names)):
        axes.axhline(place, color=RULE, linewidth=0.8, zorder=0.5)


def _finish_axis(axes: Axes, night: NightPage, *, is_last: bool) -> None:
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(is_last)
    axes.tick_params(axis="x", bottom=is_last, labelbottom=is_last)
    if is_last:
        axes.set_xlabel(f"{'hours' if _unit_s(night) == _HOUR_S else 'minutes'} from the start")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
    axes.grid(axis="x", color=MUTED, alpha=0.15)


def _kinds(night: NightPage) -> list[str]:
    present = {event.kind for event in night.events}
    named = [kind for kind in _KIND_NAMES if kind in present]
    return named + sorted(present - set(named))


def _lane_names(night: NightPage) -> list[str]:
    return [_KIND_NAMES.get(kind, kind.replace("_", " ")) for kind in _kinds(night)]


def _quality_classes(night: NightPage) -> list[str]:
    return [str(quality) for quality in Quality]


def _unit_s(night: NightPage) -> float:
    """Return the unit of the time axis in seconds: a minute where hours would be fractions."""
    is_long = len(night.quality) * night.window_s >= _LONG_S
    return _HOUR_S if is_long else _MINUTE_S


def _length(night: NightPage) -> float:
    return len(night.quality) * night.window_s / _unit_s(night)


def _times(night: NightPage) -> NDArray[np.float64]:
    middles = np.arange(len(night.quality)) + 0.5
    return np.asarray(middles * night.window_s / _unit_s(night), np.float64)


def _values(numbers: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in numbers], float)


def _bars(rows: NDArray[np.int64], night: NightPage) -> list[tuple[float, float]]:
    """Return start and length of each run of consecutive rows, in units of the time axis."""
    if not len(rows):
        return []
    first = np.flatnonzero(np.diff(rows, prepend=-2) > 1)
    counts = np.diff([*first.tolist(), len(rows)])
    unit = night.window_s / _unit_s(night)
    return [(unit * rows[place], unit * n) for place, n in zip(first, counts, strict=True)]


def sleep_sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the section on nights; none where no night was scored."""
    if not evaluation.nights:
        return ()
    panels = tuple(
        Panel(night_page_plot(night, name=f"night-page-{place}"), title=night.title)
        for place, night in enumerate(evaluation.nights)
    )
    caption = (
        "Nights with their sleep stages, scored events, signal quality, heart rate and the first "
        "principal components of a representation, computed within the night."
    )
    figure = Figure("figure-nights", caption, panels, arrangement="wide")
    return (Section("nights", "Nights", (figure,)),)
