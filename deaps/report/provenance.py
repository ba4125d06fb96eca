"""How the figures were made, what is missing, and where methods deviate from the paper."""

from __future__ import annotations

from collections.abc import Mapping

from deaps.evaluation.document import Evaluation, Provenance
from deaps.report.markdown import ABOUT_TABLES, TABLES_FOLDER
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    ColumnKind,
    Paragraph,
    Part,
    Row,
    Section,
    SideBySide,
    Table,
    TermList,
    Verbatim,
)
from deaps.report.wording import count, duration, listed


def provenance_section(evaluation: Evaluation) -> Section:
    """Return what one needs to make the figures again."""
    provenance = evaluation.provenance
    parts: tuple[Part, ...] = (
        TermList(_identity(evaluation)),
        _representations(evaluation),
        _filled(
            _stages(provenance), _seeds(provenance), _versions(provenance), _hardware(provenance)
        ),
        _filled(_digests(provenance)),
        Paragraph(_tables_beside()),
        Verbatim("Resolved settings (TOML)", provenance.settings),
    )
    return Section("provenance", "Provenance", parts)


def _tables_beside() -> str:
    tables = listed(f"{name} ({about})" for name, about in ABOUT_TABLES.items())
    return f"The folder {TABLES_FOLDER} next to this page has the figures as CSV: {tables}."


def _filled(*tables: Table) -> SideBySide:
    """Return the tables that have rows."""
    return SideBySide(tuple(table for table in tables if table.bodies[0].rows))


def _identity(evaluation: Evaluation) -> tuple[tuple[str, tuple[str, ...]], ...]:
    provenance = evaluation.provenance
    entries = {
        "evaluation": evaluation.id,
        "snapshot": provenance.snapshot_id,
        "created": provenance.created_at,
        "command": provenance.command,
    }
    return tuple((term, (text,)) for term, text in entries.items())


def _representations(evaluation: Evaluation) -> Table:
    rows = tuple(
        Row(
            representation.label,
            (
                Cell(representation.role),
                Cell(", ".join(run.name for run in representation.runs) or "–"),
                Cell(count(representation.features)),
                Cell(count(representation.parameters)),
            ),
        )
        for representation in evaluation.representations
    )
    return Table(
        id="table-representations",
        caption="Representations.",
        corner="",
        groups=(
            ColumnGroup("", ("role", "run"), kind="text"),
            ColumnGroup("", ("features", "parameters")),
        ),
        bodies=(Body(rows),),
    )


def _stages(provenance: Provenance) -> Table:
    values = {stage.name: duration(stage.seconds) for stage in provenance.stages}
    if values:
        values["total"] = duration(sum(stage.seconds for stage in provenance.stages))
    caption = "Time of each stage of the run that wrote this report."
    return _pairs("stages", caption, ("stage", "time"), values, kind="number")


def _seeds(provenance: Provenance) -> Table:
    values = {name: str(seed) for name, seed in provenance.seeds.items()}
    return _pairs("seeds", "Seeds.", ("use", "seed"), values, kind="number")


def _versions(provenance: Provenance) -> Table:
    return _pairs("versions", "Versions.", ("package", "version"), provenance.versions)


def _hardware(provenance: Provenance) -> Table:
    return _pairs("hardware", "Hardware.", ("item", "value"), provenance.hardware)


def _digests(provenance: Provenance) -> Table:
    caption = (
        "SHA-256 of each encoder file. For a data set: SHA-256 of the sorted list of its source "
        "files' SHA-256s, a line each."
    )
    return _pairs(
        "digests", caption, ("file or data set", "digest"), provenance.digests, kind="code"
    )


def _pairs(
    name: str,
    caption: str,
    heads: tuple[str, str],
    values: Mapping[str, str],
    *,
    kind: ColumnKind = "text",
) -> Table:
    rows = tuple(Row(key, (Cell(value),)) for key, value in values.items())
    return Table(
        id=f"table-{name}",
        caption=caption,
        corner=heads[0],
        groups=(ColumnGroup("", heads[1:], kind=kind),),
        bodies=(Body(rows),),
    )


def deviations_section(evaluation: Evaluation) -> Section:
    """Return the deviations of each representation that has some."""
    entries = tuple(
        (entry.label, entry.deviations) for entry in evaluation.representations if entry.deviations
    )
    text = (
        "How each representation differs from its reference implementation or from the paper."
        if entries
        else "No deviation from a reference implementation or from the paper is recorded."
    )
    parts: tuple[Part, ...] = (
        Paragraph(text),
        *((TermList(entries, stacked=True),) if entries else ()),
    )
    return Section("deviations", "Deviations", parts)
