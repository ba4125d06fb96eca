"""The deep check of a store: all that can be compared, also with the data sets it was made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from flows.config import Settings
from flows.ingest.scan import Scan, scan
from preprocessing.recording import FoundRecording
from storage.invariants import deep_findings, identities_written, recording_problems
from storage.maintenance import Finding

_WORD = re.compile(r"[^\W\d_]{5,}")
_PATIENT_AND_RECORDING = slice(8, 168)
_WITH_IDENTITY = (".edf", ".bdf", ".gdf")
_HARMLESS = frozenset({"startdate", "unknown", "anonymous", "anonymized", "recording", "patient"})
"""Words that EDF+ itself, or whoever removed an identity, puts into those fields."""


def check_deeply(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with a store: I1, I4 to I7, I11 and I12.

    Data sets that are configured and there are compared with the index, and words of their
    headers' identity fields are looked for in all that the store says.
    """
    yield from deep_findings(settings.store.root)
    if not settings.data.roots():
        return
    scanned = scan(settings)
    if scanned.published is None:
        return
    names = {(d.job.dataset, name) for d in scanned.datasets for name in d.recordings}
    yield from recording_problems(scanned.published.rows(), names)
    yield from identities_written(settings.store.root, _identity_words(scanned))


def _identity_words(scanned: Scan) -> dict[str, set[str]]:
    """Return the words in the identity fields of every recording's files, by path.

    Words of the file names themselves are left out: names of files are in the index by design.
    """
    named = {
        word
        for dataset in scanned.datasets
        for recording in dataset.recordings.values()
        for word in _words(" ".join([recording.name, recording.subject, recording.files[0][0]]))
    }
    return {
        recording.files[0][0]: words - named - _HARMLESS
        for dataset in scanned.datasets
        for recording in dataset.recordings.values()
        if (words := _header_words(dataset.job.root, recording))
    }


def _header_words(root: Path, recording: FoundRecording) -> set[str]:
    """Return the words in the fields that EDF, BDF and GDF have for a person and a visit."""
    path = root / recording.files[0][0]
    if path.suffix.lower() not in _WITH_IDENTITY:
        return set()
    try:
        with path.open("rb") as file:
            start = file.read(_PATIENT_AND_RECORDING.stop)
    except OSError:
        return set()
    return _words(start[_PATIENT_AND_RECORDING].decode("latin-1"))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
