"""Principal components of every representation, by subject and by episode."""

from __future__ import annotations

from collections.abc import Sequence

from deaps.evaluation.document import Component, Evaluation, Pca
from deaps.report.figures.densities import density_plot
from deaps.report.figures.subjects import subject_plot
from deaps.report.parts import Body, Cell, ColumnGroup, Figure, Panel, Part, Row, Section, Table
from deaps.report.results import dataset_label, representation_label
from deaps.report.sections.absent import notices
from deaps.report.wording import number, percent, slug

COMPONENTS = 6
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
