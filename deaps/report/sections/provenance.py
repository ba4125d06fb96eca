"""What the figures come from: versions, hardware, digests, seeds, times, settings."""

from __future__ import annotations

from collections.abc import Mapping

from deaps.evaluation import Evaluation, Provenance
from deaps.report.parts import (
    Beside,
    Body,
    Cell,
    ColumnGroup,
    ColumnKind,
    Facts,
    Part,
    Row,
    Section,
    Table,
    Verbatim,
)
from deaps.report.wording import count, duration


def provenance_section(evaluation: Evaluation) -> Section:
    """Return all that is needed to make the figures again."""
    told = evaluation.provenance
    parts: tuple[Part, ...] = (
        Facts(_identity(evaluation)),
        _representations(evaluation),
        _filled(_stages(told), _seeds(told), _versions(told), _hardware(told)),
        _filled(_digests(told)),
        Verbatim("Resolved settings (TOML)", told.settings),
    )
    return Section("provenance", "Provenance", parts)


def _filled(*tables: Table) -> Beside:
    """Return the tables that have rows."""
    return Beside(tuple(table for table in tables if table.bodies[0].rows))


def _identity(evaluation: Evaluation) -> tuple[tuple[str, tuple[str, ...]], ...]:
    told = evaluation.provenance
    entries = {
        "evaluation": evaluation.id,
        "snapshot": told.snapshot_id,
        "created": told.created_at,
        "command": told.command,
    }
    return tuple((term, (text,)) for term, text in entries.items())


def _representations(evaluation: Evaluation) -> Table:
    rows = tuple(
        Row(
            one.label,
            (
                Cell(one.role),
                Cell(one.run or "–"),
                Cell(count(one.features)),
                Cell(count(one.parameters)),
            ),
        )
        for one in evaluation.representations
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


def _stages(told: Provenance) -> Table:
    values = {one.name: duration(one.seconds) for one in told.stages}
    if values:
        values["together"] = duration(sum(one.seconds for one in told.stages))
    caption = "Time of each stage of the run that wrote this; what was done before took none."
    return _pairs("stages", caption, ("stage", "time"), values, kind="number")


def _seeds(told: Provenance) -> Table:
    values = {name: str(seed) for name, seed in told.seeds.items()}
    return _pairs("seeds", "Seeds.", ("of", "seed"), values, kind="number")


def _versions(told: Provenance) -> Table:
    return _pairs("versions", "Versions.", ("package", "version"), told.versions)


def _hardware(told: Provenance) -> Table:
    return _pairs("hardware", "Hardware.", ("part", "here"), told.hardware)


def _digests(told: Provenance) -> Table:
    caption = "SHA-256 of each encoder file, and fingerprint of each data set."
    return _pairs("digests", caption, ("file or data set", "digest"), told.digests, kind="code")


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
