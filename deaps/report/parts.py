"""What a report is made of, before it is HTML or Markdown.

Sections are built once, and both forms are written from them: they cannot differ in a figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, Literal, TypeAlias

from markupsafe import Markup

Layout = Literal["single", "pair", "triple", "grid", "dense", "wide"]
"""How panels stand on a wide screen: one; in rows of two, three, four or five; or each in the
full width, one below the other."""

ColumnKind = Literal["number", "text", "code"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: a figure, what belongs to it in small, and whether it is the best."""

    text: str
    note: str = ""
    best: bool = False
    missing: bool = False
    """There is no figure, and the text says so."""
    drawing: Markup | None = None
    """Stands above the text, in HTML alone."""


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns under one title; without a title each column's own heads it."""

    title: str
    columns: tuple[str, ...]
    kind: ColumnKind = "number"


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its head and cells, or one sentence across all columns."""

    head: str
    cells: tuple[Cell, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """Rows that belong together, set apart from those above."""

    rows: tuple[Row, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with horizontal rules."""

    kind: ClassVar[str] = "table"
    id: str
    caption: str
    corner: str
    groups: tuple[ColumnGroup, ...]
    bodies: tuple[Body, ...]
    notes: tuple[str, ...] = ()
    folded: bool = False
    """Long, and folded away under its caption."""
    number: int = 0

    @property
    def width(self) -> int:
        """Columns beside the head of each row."""
        return sum(len(group.columns) for group in self.groups)

    @property
    def has_group_titles(self) -> bool:
        """Whether a second line of heads is needed."""
        return any(group.title for group in self.groups)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A drawn sign and what it stands for."""

    sign: Markup
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of a figure, with its name above and a note beside the name."""

    svg: Markup
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """Drawings with a caption."""

    kind: ClassVar[str] = "figure"
    id: str
    caption: str
    panels: tuple[Panel, ...]
    layout: Layout = "single"
    legend: tuple[LegendEntry, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Matrix:
    """A confusion matrix: rows are the true classes, columns the predicted ones."""

    title: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def share(self, true: int, predicted: int) -> float | None:
        """Return the share of a true class that was predicted so, None where it has no example."""
        total = sum(self.counts[true])
        return self.counts[true][predicted] / total if total else None


@dataclass(frozen=True, slots=True)
class Matrices:
    """Confusion matrices of one benchmark."""

    kind: ClassVar[str] = "matrices"
    id: str
    caption: str
    matrices: tuple[Matrix, ...]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Map:
    """A scatter of windows that shows the strip of the one pointed at."""

    kind: ClassVar[str] = "map"
    id: str
    caption: str
    svg: Markup
    legend: tuple[LegendEntry, ...]
    data: dict[str, object]
    """What the page's script reads: places, labels, subjects, strips."""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence on what is not there, and why."""

    kind: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Terms, each with one or more values."""

    kind: ClassVar[str] = "facts"
    entries: tuple[tuple[str, tuple[str, ...]], ...]
    stacked: bool = False
    """Each term on a line of its own, for values that are sentences."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A long text, folded away under a summary."""

    kind: ClassVar[str] = "verbatim"
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Beside:
    """Parts that stand beside each other where the screen is wide enough."""

    kind: ClassVar[str] = "beside"
    parts: tuple[Part, ...]


Part: TypeAlias = (
    Table | Figure | Matrices | Map | Paragraph | Notice | Bullets | Facts | Verbatim | Beside
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report that the table of contents names."""

    id: str
    title: str
    parts: tuple[Part, ...]


def numbered(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return the sections with their tables and figures counted from 1, each on its own."""
    tables, figures = count(1), count(1)
    return tuple(
        replace(section, parts=tuple(_numbered(part, tables, figures) for part in section.parts))
        for section in sections
    )


def _numbered(part: Part, tables: Iterator[int], figures: Iterator[int]) -> Part:
    if isinstance(part, Beside):
        return Beside(tuple(_numbered(one, tables, figures) for one in part.parts))
    if isinstance(part, Table):
        return replace(part, number=next(tables))
    if isinstance(part, Figure | Matrices | Map):
        return replace(part, number=next(figures))
    return part
