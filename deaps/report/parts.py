"""The parts of a report, before they become HTML or Markdown.

Both forms are written from the same sections, so they cannot differ in a figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, Literal, TypeAlias

from markupsafe import Markup

Arrangement = Literal["single", "pair", "triple", "grid", "dense", "wide"]
"""How panels are placed on a wide screen: a single one; in rows of two, three, four or five; or
each in the full width, below the one before."""

ColumnKind = Literal["number", "text", "code"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: a figure, a note in small type, and whether it is the best."""

    text: str
    note: str = ""
    best: bool = False
    missing: bool = False
    """The text stands for a figure that is missing."""
    drawing: Markup | None = None
    """Drawn above the text; only in the page."""


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns under one title; the title may be empty."""

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
    """Rows that belong together; a rule separates them from those above."""

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
    """The page shows the caption alone until a reader opens it."""
    number: int = 0

    @property
    def width(self) -> int:
        """Number of columns, without the head of each row."""
        return sum(len(group.columns) for group in self.groups)

    @property
    def has_group_titles(self) -> bool:
        """Whether the table needs a second line of heads."""
        return any(group.title for group in self.groups)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A drawn sign and its meaning."""

    sign: Markup
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of a figure, with its name above and a note next to the name."""

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
    arrangement: Arrangement = "single"
    legend: tuple[LegendEntry, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Matrix:
    """A confusion matrix: rows are the true classes, columns the predicted ones."""

    title: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def share(self, true: int, predicted: int) -> float | None:
        """Return the share of a true class with that prediction, None if it has no example."""
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
    """A scatter of windows; the page shows the strip of the window under the pointer."""

    kind: ClassVar[str] = "map"
    id: str
    caption: str
    svg: Markup
    legend: tuple[LegendEntry, ...]
    data: dict[str, object]
    """Read by the page's script: places, labels, subjects, strips."""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence on what is missing, and why."""

    kind: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TermList:
    """Terms, each with one or more values."""

    kind: ClassVar[str] = "terms"
    entries: tuple[tuple[str, tuple[str, ...]], ...]
    stacked: bool = False
    """Each term on a line of its own, for values that are sentences."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A long text; the page shows the summary alone until a reader opens it."""

    kind: ClassVar[str] = "verbatim"
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Parts side by side, where the screen is wide enough."""

    kind: ClassVar[str] = "beside"
    parts: tuple[Part, ...]


Part: TypeAlias = (
    Table
    | Figure
    | Matrices
    | Map
    | Paragraph
    | Notice
    | Bullets
    | TermList
    | Verbatim
    | SideBySide
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report that the table of contents names."""

    id: str
    title: str
    parts: tuple[Part, ...]


def numbered(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return the sections with tables numbered from 1, and figures numbered from 1."""
    tables, figures = count(1), count(1)
    return tuple(
        replace(section, parts=tuple(_numbered(part, tables, figures) for part in section.parts))
        for section in sections
    )


def _numbered(part: Part, tables: Iterator[int], figures: Iterator[int]) -> Part:
    if isinstance(part, SideBySide):
        return SideBySide(tuple(_numbered(inner, tables, figures) for inner in part.parts))
    if isinstance(part, Table):
        return replace(part, number=next(tables))
    if isinstance(part, Figure | Matrices | Map):
        return replace(part, number=next(figures))
    return part
