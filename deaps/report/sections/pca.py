"""Principal components of every representation, by subject and by episode."""

from __future__ import annotations

from collections.abc import Sequence

from deaps.evaluation import Component, Evaluation, Pca
from deaps.report.absence import notices
from deaps.report.figures.densities import (
    density_plot,
)
from deaps.report.figures.subjects import subject_plot
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    Panel,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.titles import representation_label
from deaps.report.wording import number, percent, slug

COMPONENTS = 6
"""Shown of each representation, as in the paper."""


def pca_section(evaluation: Evaluation) -> Section:
    """Return, for each data set, the scatter by subject, the densities by episode, the numbers."""
    by_dataset: dict[str, list[Pca]] = {}
    for one in evaluation.pca:
        by_dataset.setdefault(one.dataset, []).append(one)
    parts: list[Part] = [*notices(evaluation, "pca", empty=not by_dataset)]
    for dataset, found in by_dataset.items():
        parts += [
            _subjects(evaluation, dataset, found),
            _episodes(evaluation, dataset, found),
            _numbers(evaluation, dataset, found),
        ]
    return Section("pca", "Principal components", tuple(parts))


def _subjects(evaluation: Evaluation, dataset: str, found: Sequence[Pca]) -> Figure:
    return Figure(
        id=f"figure-subjects-{slug(dataset)}",
        caption=f"First two principal components of {dataset} windows, by subject: each has a "
        "colour and shape, and its number where there is room. Silhouette near 1: subjects lie "
        "apart; near 0 or below: they are mixed.",
        panels=tuple(_subject_panel(evaluation, one) for one in found),
        layout="dense",
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


def _episodes(evaluation: Evaluation, dataset: str, found: Sequence[Pca]) -> Table:
    shown = max(len(one.components[:COMPONENTS]) for one in found)
    rows = tuple(
        Row(representation_label(evaluation, one.representation), _density_cells(one, shown))
        for one in found
    )
    return Table(
        id=f"table-episodes-{slug(dataset)}",
        caption=f"Density of {dataset} windows along each component, AFib (solid, filled) and "
        "normal (dashed).",
        corner="",
        groups=(ColumnGroup("", tuple(f"component {k + 1}" for k in range(shown))),),
        bodies=(Body(rows),),
        notes=(
            "KS: Kolmogorov-Smirnov distance of AFib and normal, 0 to 1. AUC: area under the ROC "
            "curve of AFib against normal, 0.5 to 1. Below: share of the variance in per cent.",
        ),
    )


def _density_cells(pca: Pca, shown: int) -> tuple[Cell, ...]:
    cells = [_density_cell(pca, place, one) for place, one in enumerate(pca.components[:shown])]
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


def _numbers(evaluation: Evaluation, dataset: str, found: Sequence[Pca]) -> Table:
    return Table(
        id=f"table-pca-{slug(dataset)}",
        caption=f"Subjects and episodes of {dataset} in numbers.",
        corner="",
        groups=(
            ColumnGroup("by subject", ("silhouette",)),
            ColumnGroup("by episode", ("greatest KS", "greatest AUC", "on component")),
            ColumnGroup("variance, per cent", ("first two", f"first {COMPONENTS}")),
        ),
        bodies=(Body(tuple(_numbers_row(evaluation, one) for one in found)),),
    )


def _numbers_row(evaluation: Evaluation, pca: Pca) -> Row:
    components = pca.components[:COMPONENTS]
    aucs = [one.auc for one in components]
    ks = max((one.ks for one in components), default=None)
    auc = max(aucs, default=None)
    cells = (
        Cell(number(pca.silhouette)),
        Cell(number(ks)),
        Cell(number(auc)),
        Cell(str(aucs.index(auc) + 1) if auc is not None else "–"),
        Cell(percent(sum(one.explained for one in components[:2]))),
        Cell(percent(sum(one.explained for one in components))),
    )
    return Row(representation_label(evaluation, pca.representation), cells)
