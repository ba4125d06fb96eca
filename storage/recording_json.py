"""A recording's row as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from storage.digest import canonical_json
from storage.schema import RecordingRow, Sex, SourceFile, Status

SOURCE_FIELDS = tuple(SourceFile.__slots__)
RECORDING_FIELDS = tuple(name for name in RecordingRow.__slots__ if name != "sources")


def source_to_dict(source: SourceFile) -> dict[str, Any]:
    """Return a source file's fields by name."""
    return {name: getattr(source, name) for name in SOURCE_FIELDS}


def recording_to_dict(row: RecordingRow) -> dict[str, Any]:
    """Return a row's fields by name, sources included, as JSON holds them.

    Written out because `dataclasses.asdict` takes ten times as long.
    """
    values = {name: getattr(row, name) for name in RECORDING_FIELDS}
    values["notes"] = list(row.notes)
    values["rhythms"] = list(row.rhythms)
    values["scoring_notes"] = list(row.scoring_notes)
    values["sources"] = [source_to_dict(source) for source in row.sources]
    return values


def recording_from_dict(values: Mapping[str, Any]) -> RecordingRow:
    """Return the row that `recording_to_dict` was given."""
    fields = {name: values[name] for name in RECORDING_FIELDS if name in values}
    fields["status"] = Status(fields["status"])
    fields["sex"] = None if fields.get("sex") is None else Sex(fields["sex"])
    fields["notes"] = tuple(fields.get("notes") or ())
    fields["rhythms"] = tuple(fields.get("rhythms") or ())
    fields["scoring_notes"] = tuple(fields.get("scoring_notes") or ())
    sources = tuple(SourceFile(**source) for source in values.get("sources", ()))
    return RecordingRow(**fields, sources=sources)


def recording_to_json(row: RecordingRow) -> str:
    """Return a row as one line of JSON."""
    return canonical_json(recording_to_dict(row))


def recording_from_json(text: str | bytes) -> RecordingRow:
    """Return the row that `recording_to_json` was given."""
    return recording_from_dict(json.loads(text))
