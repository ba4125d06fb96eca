"""Digests of a snapshot: what its content is, whatever its order, its time and its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

from storage.digest import digest_of
from storage.index.recording_json import RECORDING_FIELDS, recording_to_dict
from storage.schema import DatasetRow, RecordingRow

_NOT_FACTS = {"path", "signal_offset", "bytes", "checked_at_ns"}
_FACTS = tuple(sorted(set(RECORDING_FIELDS) - _NOT_FACTS))
_DATASET_AND_NAME = attrgetter("dataset", "name")


def snapshot_digest(rows: Sequence[RecordingRow], settings: Mapping[str, Any]) -> str:
    """Return the snapshot id: digest of recordings, of their files and of the settings.

    Ids, times, sources' paths, runs and results have no influence: training on a snapshot
    must not make another one of it.
    """
    ordered = sorted(rows, key=_DATASET_AND_NAME)
    return digest_of("snapshot", _FACTS, list(map(attrgetter(*_FACTS), ordered)), dict(settings))


def content_digest(
    snapshot_id: str,
    rows: Sequence[RecordingRow],
    datasets: Sequence[DatasetRow],
    outcomes: Any,
    root: Path,
) -> str:
    """Return the digest of all that the index would hold but times and ids.

    Two publications with equal digests would write the same index.
    """
    described = [recording_to_dict(row) for row in sorted(rows, key=_DATASET_AND_NAME)]
    scanned = sorted((asdict(row) | {"scanned_at_ns": 0} for row in datasets), key=repr)
    return digest_of("content", snapshot_id, described, scanned, outcomes, str(root))
