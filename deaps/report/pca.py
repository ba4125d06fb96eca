"""Principal components of every representation: how far subjects and episodes lie apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score, silhouette_score

from deaps.evaluation.document import Component, Evaluation, Pca
from deaps.report.arrays import NotShownError, group_numbers, plain_floats, stratified_sample
from deaps.report.drawing import bare_axes, limits, points
from deaps.report.parts import Body, Cell, ColumnGroup, Figure, Panel, Part, Row, Section, Table
from deaps.report.results import dataset_label, notices, representation_label
from deaps.report.svg import CLASS_MARK, inline_svg
from deaps.report.theme import INK, N_SERIES, RULE, SERIES, SHAPES, Dash
from deaps.report.wording import number, percent, slug

COMPONENTS = 6
_COMPARED = 4000
"""Windows between which the silhouette takes all distances."""

_ROUNDING = 1e-10
"""Share of the variance below which a component is rounding."""


def pca_data(
    representation: str,
    dataset: str,
    features: NDArray[np.floating],
    subjects: Sequence[Hashable] | NDArray[np.generic],
    afib: NDArray[np.bool_],
    *,
    seed: int,
    sample: int = 1500,
) -> Pca:
    """Return the first six principal components, with a number for each of the paper's figures.

    As in the paper, features are centred and not scaled, so what varies most counts most; scale
    features that have units before. There are fewer components where features vary in fewer
    directions.

    Parameters
    ----------
    features
        (n, d), finite.
    subjects, afib
        (n,): whose window it is, and whether it is AFib (else normal).
    seed, sample
        Of the windows that are drawn as points; every subject is among them.

    Raises
    ------
    NotShownError
        With one subject or one class alone, or with features that do not vary.
    """
    numbers = group_numbers(subjects)
    _check(features, numbers, afib)
    scores, explained = principal_components(features)
    drawn = stratified_sample(numbers, sample, seed=seed)
    shown = scores[drawn, :2]
    return Pca(
        representation=representation,
        dataset=dataset,
        silhouette=subject_silhouette(scores[:, :2], numbers, seed=seed),
        components=tuple(_component(*pair, afib) for pair in zip(scores.T, explained, strict=True)),
        x=plain_floats(shown[:, 0]),
        y=plain_floats(shown[:, 1] if shown.shape[1] == 2 else np.zeros(len(shown))),
        subject=tuple(numbers[drawn].tolist()),
        afib=tuple(afib[drawn].tolist()),
    )


def principal_components(
    features: NDArray[np.floating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the windows' components, (n, at most 6), and their shares of the variance."""
    n = min(COMPONENTS, len(features) - 1, features.shape[1])
    pca = PCA(n, svd_solver="full").fit(features.astype(np.float64))
    kept = pca.explained_variance_ratio_ > _ROUNDING
    scores = pca.transform(features.astype(np.float64))
    return scores[:, kept], pca.explained_variance_ratio_[kept]


def subject_silhouette(
    points: NDArray[np.float64], subjects: NDArray[np.int64], *, seed: int
) -> float:
    """Return the mean silhouette of points by subject, over at most 4,000 windows.

    A subject with one window counts 0, as in Rousseeuw (1987).
    """
    drawn = stratified_sample(subjects, _COMPARED, seed=seed)
    if len(np.unique(subjects[drawn])) == len(drawn):
        return 0.0
    return float(silhouette_score(points[drawn], subjects[drawn]))


def ks_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the largest distance of two samples' distribution functions."""
    # The distance alone is used; "asymp" spares the exact p-value's time.
    return float(ks_2samp(a, b, method="asymp").statistic)


def folded_auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, of whichever direction gives 0.5 or more."""
    auc = float(roc_auc_score(positive, scores))
    return max(auc, 1.0 - auc)


def _component(scores: NDArray[np.float64], explained: float, afib: NDArray[np.bool_]) -> Component:
    grid = common_grid(scores[afib], scores[~afib])
    return Component(
        explained=float(explained),
        ks=ks_distance(scores[afib], scores[~afib]),
        auc=folded_auc(scores, afib),
        grid=plain_floats(grid),
        afib=plain_floats(density(scores[afib], grid)),
        normal=plain_floats(density(scores[~afib], grid)),
    )


def _check(
    features: NDArray[np.floating], subjects: NDArray[np.int64], afib: NDArray[np.bool_]
) -> None:
    if not len(features) == len(subjects) == len(afib):
        sizes = f"{len(features)}, {len(subjects)} and {len(afib)}"
        raise ValueError(f"features, subjects and afib have {sizes} rows; expected as many each")
    if not np.isfinite(features).all():
        raise ValueError("features are not all finite; fill or leave out unknown ones first")
    if len(np.unique(subjects)) < 2:
        raise NotShownError(f"{len(np.unique(subjects))} subjects; at least two are needed")
    if afib.all() or not afib.any():
        raise NotShownError(f"{afib.sum()} of {len(afib)} windows are AFib; both kinds are needed")
    if np.ptp(features, axis=0).max() == 0:
        raise NotShownError("all windows have the same features; there is no component")


GRID_POINTS = 100
_BINS_A_STEP = 10
_TAILS = 0.001
"""Share of values at either end that may lie outside the grid: one outlier would stretch it."""


def common_grid(*samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 100 points over the bulk of all samples, and three bandwidths beyond it."""
    ends = [np.quantile(sample, [_TAILS, 1 - _TAILS]) for sample in samples]
    margin = 3 * max(_bandwidth(sample) for sample in samples)
    low, high = min(end[0] for end in ends) - margin, max(end[1] for end in ends) + margin
    return np.linspace(low, high, GRID_POINTS)


def density(sample: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gaussian kernel density of a sample at the points of an even grid.

    Bandwidth by Silverman's rule and at least a step of the grid. Values are counted in ten
    bins a step first, so that the time does not grow with the sample.
    """
    step = grid[1] - grid[0]
    width = max(_bandwidth(sample), step)
    bins = np.linspace(grid[0], grid[-1], _BINS_A_STEP * (len(grid) - 1) + 1)
    counts, edges = np.histogram(sample, bins)
    distance = (grid[:, np.newaxis] - (edges[:-1] + edges[1:]) / 2) / width
    kernel = np.exp(-0.5 * distance**2) / (width * np.sqrt(2 * np.pi))
    return np.asarray(kernel @ counts / len(sample))


def _bandwidth(sample: NDArray[np.float64]) -> float:
    low, high = np.quantile(sample, [0.25, 0.75])
    spread = min(float(sample.std()), float(high - low) / 1.349) or float(sample.std())
    return float(0.9 * spread * len(sample) ** -0.2)


_SIZE = (120, 58)
AFIB_COLOUR = SERIES[1]
NORMAL_COLOUR = SERIES[0]
NORMAL_DASH: Dash = (0, (4, 1.8))


def density_plot(component: Component, *, name: str, label: str) -> Markup:
    """Return both densities: AFib as a filled solid line, normal dashed."""

    def draw(figure: MplFigure) -> None:
        axes = bare_axes(figure, margin=2)
        grid = np.array(component.grid)
        top = max((*component.afib, *component.normal), default=1.0) or 1.0
        axes.set(xlim=(grid.min(), grid.max()), ylim=(0, 1.05 * top))
        axes.axhline(0, color=RULE, linewidth=1)
        axes.fill_between(grid, component.afib, color=AFIB_COLOUR, alpha=0.18, linewidth=0)
        axes.plot(grid, component.afib, color=AFIB_COLOUR, linewidth=1.4)
        axes.plot(grid, component.normal, color=NORMAL_COLOUR, linestyle=NORMAL_DASH, linewidth=1.4)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


_SIDE = 240
_MOST_POINTS = 1200
"""Drawn of one representation: more would hide each other and make the page heavy."""
_POINT = 4.5
_LABEL_ROOM = (16.0, 12.0)
"""Width and height that the number of a subject takes, in pixels."""


def subject_plot(pca: Pca, *, name: str, label: str) -> Markup:
    """Return a scatter: each subject has a colour and shape, and its number if there is room."""
    kept = _thinned(len(pca.x))
    x, y = np.array(pca.x)[kept], np.array(pca.y)[kept]
    subjects = np.array(pca.subject)[kept]

    def draw(figure: MplFigure) -> None:
        axes = bare_axes(figure, margin=3)
        axes.set(xlim=limits(x), ylim=limits(y))
        _draw_frame(axes)
        for subject in np.unique(subjects):
            of_subject = subjects == subject
            _draw_subject(axes, int(subject), x[of_subject], y[of_subject])
        _write_numbers(axes, x, y, subjects)

    return inline_svg(draw, name=name, label=label, size=(_SIDE, _SIDE))


def _thinned(n: int) -> NDArray[np.intp]:
    """Return evenly spaced places, at most as many as are drawn."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(np.intp))


def _draw_frame(axes: Axes) -> None:
    corners = [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]
    axes.plot(*corners, transform=axes.transAxes, color=RULE, linewidth=0.8, clip_on=False)


def _draw_subject(axes: Axes, subject: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    # Six colours, and after each round of them the next shape.
    shape = SHAPES[(subject // N_SERIES) % len(SHAPES)]
    colour = SERIES[subject % N_SERIES]
    points(axes, x, y, shape=shape, colour=colour, size=_POINT, alpha=0.55)


def _write_numbers(
    axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], subjects: NDArray[np.intp]
) -> None:
    """Write each subject's number at its median, the largest subjects first, none over another."""
    numbers, sizes = np.unique(subjects, return_counts=True)
    taken: list[NDArray[np.float64]] = []
    for subject in numbers[np.argsort(-sizes, kind="stable")]:
        own = subjects == subject
        centre = np.array([np.median(x[own]), np.median(y[own])])
        pixel = axes.transData.transform(centre)
        if any((np.abs(pixel - other) < _LABEL_ROOM).all() for other in taken):
            continue
        taken.append(pixel)
        number = axes.text(
            centre[0], centre[1], str(int(subject) + 1), ha="center", va="center_baseline"
        )
        number.set(fontsize=12, fontweight="bold", color=INK, gid=f"{CLASS_MARK}halo")


"""Shown of each representation, as in the paper."""


def pca_section(evaluation: Evaluation) -> Section:
    """Return, for each data set, the scatter by subject, the densities by episode, the numbers."""
    by_dataset: dict[str, list[Pca]] = {}
    for pca in evaluation.pca:
        by_dataset.setdefault(pca.dataset, []).append(pca)
    parts: list[Part] = [*notices(evaluation, "pca", empty=not by_dataset)]
    for dataset, group in by_dataset.items():
        parts += [
            _subjects(evaluation, dataset, group),
            _episodes(evaluation, dataset, group),
            _numbers(evaluation, dataset, group),
        ]
    return Section("pca", "Principal components", tuple(parts))


def _subjects(evaluation: Evaluation, dataset: str, group: Sequence[Pca]) -> Figure:
    return Figure(
        id=f"figure-subjects-{slug(dataset)}",
        caption="First two principal components of the windows of "
        f"{dataset_label(evaluation, dataset)}. Each subject has a colour and a shape, and its "
        "number where there is room. A silhouette near 1 means that subjects lie apart; near 0 or "
        "below, that they mix.",
        panels=tuple(_subject_panel(evaluation, pca) for pca in group),
        arrangement="dense",
    )


def _subject_panel(evaluation: Evaluation, pca: Pca) -> Panel:
    title = representation_label(evaluation, pca.representation)
    silhouette = number(pca.silhouette)
    subjects = len(set(pca.subject))
    svg = subject_plot(
        pca,
        name=f"subjects-{slug(pca.dataset)}-{slug(pca.representation)}",
        label=f"Windows of {subjects} subjects on two components of {title}, "
        f"silhouette by subject {silhouette}",
    )
    return Panel(svg, title=title, note=f"silhouette {silhouette}")


def _episodes(evaluation: Evaluation, dataset: str, group: Sequence[Pca]) -> Table:
    shown = max(len(pca.components[:COMPONENTS]) for pca in group)
    rows = tuple(
        Row(representation_label(evaluation, pca.representation), _density_cells(pca, shown))
        for pca in group
    )
    return Table(
        id=f"table-episodes-{slug(dataset)}",
        caption=f"Density of the windows of {dataset_label(evaluation, dataset)} along each "
        "component: AFib solid and filled, normal dashed.",
        corner="",
        groups=(ColumnGroup("", tuple(f"component {k + 1}" for k in range(shown))),),
        bodies=(Body(rows),),
        notes=(
            "KS: Kolmogorov-Smirnov distance between AFib and normal, 0 to 1. AUC: area under the "
            "ROC curve of AFib against normal, 0.5 to 1. In small type: share of the variance.",
        ),
    )


def _density_cells(pca: Pca, shown: int) -> tuple[Cell, ...]:
    cells = [
        _density_cell(pca, place, component)
        for place, component in enumerate(pca.components[:shown])
    ]
    return (*cells, *[Cell("–", missing=True)] * (shown - len(cells)))


def _density_cell(pca: Pca, place: int, component: Component) -> Cell:
    ks, auc = number(component.ks), number(component.auc)
    drawing = density_plot(
        component,
        name=f"density-{slug(pca.dataset)}-{slug(pca.representation)}-{place}",
        label=f"Densities on component {place + 1}: KS {ks}, AUC {auc}",
    )
    note = f"{percent(component.explained)} %"
    return Cell(f"KS {ks} · AUC {auc}", note=note, drawing=drawing)


def _numbers(evaluation: Evaluation, dataset: str, group: Sequence[Pca]) -> Table:
    return Table(
        id=f"table-pca-{slug(dataset)}",
        caption="How far the components separate subjects and episodes of "
        f"{dataset_label(evaluation, dataset)}.",
        corner="",
        groups=(
            ColumnGroup("by subject", ("silhouette",)),
            ColumnGroup("by episode", ("greatest KS", "greatest AUC", "on component")),
            ColumnGroup("variance, per cent", ("first two", f"first {COMPONENTS}")),
        ),
        bodies=(Body(tuple(_numbers_row(evaluation, pca) for pca in group)),),
    )


def _numbers_row(evaluation: Evaluation, pca: Pca) -> Row:
    components = pca.components[:COMPONENTS]
    aucs = [component.auc for component in components]
    ks = max((component.ks for component in components), default=None)
    auc = max(aucs, default=None)
    cells = (
        Cell(number(pca.silhouette)),
        Cell(number(ks)),
        Cell(number(auc)),
        Cell(str(aucs.index(auc) + 1) if auc is not None else "–"),
        Cell(percent(sum(component.explained for component in components[:2]))),
        Cell(percent(sum(component.explained for component in components))),
    )
    return Row(representation_label(evaluation, pca.representation), cells)
