"""Looks up parts of a report by kind and id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deaps.report.parts import Part, Row, Section, SideBySide, Table


def all_parts(sections: Sequence[Section]) -> Iterator[Part]:
    """Give every part, also those that stand beside each other."""
    for section in sections:
        yield from _flat(section.parts)


def _flat(parts: Sequence[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, SideBySide):
            yield from _flat(part.parts)
        else:
            yield part


def table(sections: Sequence[Section], name: str) -> Table:
    """Return the table of that id."""
    tables = (part for part in all_parts(sections) if isinstance(part, Table))
    return next(part for part in tables if part.id == name)


def rows(part: Table) -> dict[str, Row]:
    """Return the rows of a table by their heads."""
    return {row.head: row for body in part.bodies for row in body.rows}
