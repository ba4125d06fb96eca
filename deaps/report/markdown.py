"""The report as Markdown: every table and list, and the caption of every figure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatch

from deaps.report.parts import (
    Beside,
    Bullets,
    Cell,
    ColumnGroup,
    ColumnKind,
    Figure,
    Map,
    Matrices,
    Matrix,
    Notice,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    TermList,
    Verbatim,
)
from deaps.report.wording import percent

_SPECIAL = re.compile(r"([\\`*_\[\]|#])")
_FENCE = re.compile(r"`{3,}")


def markdown_report(title: str, sections: Sequence[Section], *, banner: str | None = None) -> str:
    """Return the whole report as Markdown text."""
    blocks = [f"# {escaped(title)}", *([f"> **{escaped(banner)}**"] if banner else [])]
    for section in sections:
        blocks.append(f"## {escaped(section.title)}")
        blocks += [_block(part) for part in section.parts]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Return a text that Markdown shows unchanged: on one line, without mark-up or HTML."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return _SPECIAL.sub(r"\\\1", line)


@singledispatch
def _block(part: Part) -> str:
    raise TypeError(f"no Markdown for {type(part).__name__}")


@_block.register
def _(part: Paragraph) -> str:
    return escaped(part.text)


@_block.register
def _(part: Notice) -> str:
    return f"> {escaped(part.text)}"


@_block.register
def _(part: Beside) -> str:
    return "\n\n".join(_block(inner) for inner in part.parts)


@_block.register
def _(part: Bullets) -> str:
    return "\n".join(f"- {escaped(item)}" for item in part.items)


@_block.register
def _(part: TermList) -> str:
    lines = []
    for term, values in part.entries:
        if len(values) == 1:
            lines.append(f"- {escaped(term)}: {escaped(values[0])}")
        else:
            lines += [f"- {escaped(term)}:", *(f"    - {escaped(value)}" for value in values)]
    return "\n".join(lines)


@_block.register
def _(part: Verbatim) -> str:
    longest = max((len(fence) for fence in _FENCE.findall(part.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{escaped(part.summary)}:\n\n{fence}\n{part.text.rstrip()}\n{fence}"


@_block.register(Figure)
@_block.register(Map)
def _(part: Figure | Map) -> str:
    titles = ""
    if isinstance(part, Figure):
        lines = [" ".join(filter(None, (panel.title, panel.note))) for panel in part.panels]
        titles = "".join(f"\n- {escaped(line)}" for line in lines if line)
        titles = f"\n{titles}" if titles else ""
    return f"Figure {part.number}. {escaped(part.caption)} (The page shows this figure.){titles}"


@_block.register
def _(part: Matrices) -> str:
    classes = part.matrices[0].classes if part.matrices else ()
    heads = ["", "true class", *(f"predicted {name}" for name in classes)]
    rows = [line for matrix in part.matrices for line in _matrix_rows(matrix)]
    return (
        f"Figure {part.number}. {escaped(part.caption)}\n\n{_grid(heads, rows, ['text', 'text'])}"
    )


def _matrix_rows(matrix: Matrix) -> list[list[str]]:
    rows = []
    for true, name in enumerate(matrix.classes):
        shares = [
            f"{percent(matrix.share(true, predicted))} ({count:,})"
            for predicted, count in enumerate(matrix.counts[true])
        ]
        rows.append([escaped(matrix.title), escaped(name), *shares])
    return rows


@_block.register
def _(part: Table) -> str:
    heads = [part.corner, *(head for group in part.groups for head in _heads(group))]
    rows = [_row(row, part.width) for body in part.bodies for row in body.rows]
    kinds = [group.kind for group in part.groups for _ in group.columns]
    notes = "".join(f"\n\n{escaped(note)}" for note in part.notes)
    title = f"Table {part.number}. {escaped(part.caption)}"
    return f"{title}\n\n{_grid(heads, rows, ['text', *kinds])}{notes}"


def _heads(group: ColumnGroup) -> Iterable[str]:
    return (": ".join(filter(None, (group.title, column))) for column in group.columns)


def _row(row: Row, width: int) -> list[str]:
    head = escaped(row.head)
    if row.sentence:
        return (
            [head, escaped(row.sentence), *[""] * (width - 1)]
            if width
            else [f"{head}: {escaped(row.sentence)}"]
        )
    return [head, *map(_cell, row.cells)]


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.best:
        text = f"**{text}** ★"
    return f"{text} {escaped(cell.note)}" if cell.note else text


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[ColumnKind]) -> str:
    """Return a pipe table; columns of numbers are right-aligned, as are those beyond ``kinds``."""
    rules = ["---:" if kind == "number" else "---" for kind in kinds]
    rules += ["---:"] * (len(heads) - len(kinds))
    lines = [[escaped(head) or " " for head in heads], rules, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
