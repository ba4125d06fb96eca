"""Whom a run was trained on: recorded with it, so that nobody is tested unawares."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from deaps.config import SamplingSettings, condition_of
from deaps.methods import build_method
from deaps.models.encoder_file import read_about
from deaps.sampling.sampler import Sampler, Views, open_sampler
from deaps.sampling.window_pool import NotEnoughDataError, load_pool
from deaps.training.run_folder import Run, TrainingPlan
from storage.files import digest_of, replacing
from storage.snapshot import Chain, open_index, read_chains

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TRAINED_ON_NAME = "trained_on.json"
_HASH_LENGTH = 12

# Recordings with their person and the digest of their signals.
_NAMED = """
WITH named AS (
    SELECT r.*, r.dataset || '/' || r.subject AS person, coalesce(s.content, '') AS content
    FROM recordings r LEFT JOIN (
        SELECT recording_id, string_agg(sha256, ' ' ORDER BY path) AS content
        FROM sources WHERE role = 'signal' GROUP BY recording_id
    ) s USING (recording_id)
)
"""
_NAMES = """
SELECT person, content, synthetic FROM named JOIN datasets USING (dataset) WHERE {chosen}
"""
_WINDOWS_SEEN = """
SELECT dataset, coalesce(list(DISTINCT channel ORDER BY channel) FILTER (channel IS NOT NULL), []),
       list(recording_id)
FROM named WHERE status = 'ok' AND person IN (SELECT unnest($subjects::VARCHAR[]))
  AND (content = '' OR content IN (SELECT unnest($recordings::VARCHAR[])))
GROUP BY dataset ORDER BY dataset
"""


class WindowsSeen(NamedTuple):
    """How the windows of a training were made."""

    channels: dict[str, tuple[str, ...]]
    """Labels of the leads that were read, by data set."""
    chains: list[Chain]
    """Settings and versions of the signal chain, that of most recordings first."""


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """People and recordings that a training could draw from."""

    subjects: frozenset[str]
    """As ``dataset/subject``."""
    recordings: frozenset[str]
    """Digests of their signals; copies of a recording under another name have the same."""
    synthetic: bool | None = None
    """Whether some of the data were synthetic; None where that was not recorded."""
    hashed: bool = False
    """Whether names and digests are given by their short hashes alone."""
    recorded: bool = True
    """Whether that is known; of an encoder whose file does not say, nobody is known."""

    def __or__(self, other: TrainedOn) -> TrainedOn:
        if self.hashed != other.hashed:
            return self.as_hashes() | other.as_hashes()
        return TrainedOn(
            self.subjects | other.subjects,
            self.recordings | other.recordings,
            self.synthetic or other.synthetic,
            self.hashed,
            self.recorded and other.recorded,
        )

    def as_hashes(self) -> TrainedOn:
        """Return the same by short hashes alone, because names may be restricted."""
        if self.hashed:
            return self
        subjects, recordings = (
            frozenset(map(short_hash, names)) for names in (self.subjects, self.recordings)
        )
        return replace(self, subjects=subjects, recordings=recordings, hashed=True)

    def to_json(self) -> bytes:
        """Return the text of a run's file."""
        values = {
            "subjects": sorted(self.subjects),
            "recordings": sorted(self.recordings),
            "synthetic": self.synthetic,
            "hashed": self.hashed,
        }
        return f"{json.dumps(values, indent=1)}\n".encode()

    def windows_in(self, index: DuckDBPyConnection) -> WindowsSeen:
        """Return how the index that it was drawn from says that its windows were made."""
        names = {"subjects": [*self.subjects], "recordings": [*self.recordings]}
        rows = index.execute(_NAMED + _WINDOWS_SEEN, names).fetchall()
        channels = {dataset: tuple(read) for dataset, read, _ in rows}
        ids = [number for *_, numbers in rows for number in numbers]
        chains = read_chains(index, "list_contains($ids, recording_id)", ids=ids)
        return WindowsSeen(channels, chains)

    @property
    def digest(self) -> str:
        """Digest of all of it."""
        return digest_of(sorted(self.subjects), sorted(self.recordings))

    def metadata(self) -> dict[str, str]:
        """Return what an encoder's file says of it: hashes, because names may be restricted."""
        hashes = self.as_hashes()
        return {
            "trained_on": self.digest,
            "trained_subjects": " ".join(sorted(hashes.subjects)),
            "trained_recordings": " ".join(sorted(hashes.recordings)),
        }

    def shared_subjects(self, names: Iterable[str]) -> frozenset[str]:
        """Return which of some people it was trained on."""
        return self._shared(self.subjects, names)

    def shared_recordings(self, contents: Iterable[str]) -> frozenset[str]:
        """Return which of some recordings it was trained on."""
        return self._shared(self.recordings, contents)

    def _shared(self, seen: frozenset[str], names: Iterable[str]) -> frozenset[str]:
        key = short_hash if self.hashed else str
        return frozenset(name for name in names if key(name) in seen)


def short_hash(name: str) -> str:
    """Return the hash by which an encoder's file knows a person or a recording."""
    return hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]


def drawn_from(sampler: Sampler, index: Path) -> TrainedOn:
    """Return who a sampler can draw: all usable recordings of every subject that qualifies."""
    pool = sampler.pool
    ids = pool.recording_ids[np.isin(pool.subjects, sampler.subjects)]
    with open_index(index) as connection:
        return _named(connection, "list_contains($ids, recording_id)", ids=ids.tolist())


def planned_training(plans: Mapping[str, TrainingPlan], index: Path) -> dict[str, TrainedOn]:
    """Return who trainings would draw from, by name: the sampler's rules decide it.

    A training that finds nobody to draw from is left out: it stops before its first step.

    Raises
    ------
    DeapsError
        If the index does not have a data set or part of ``sampling.datasets``.
    """
    pool = cache(lambda sampling: load_pool(index, sampling))

    @cache
    def people(views: Views, sampling: SamplingSettings) -> TrainedOn:
        return drawn_from(Sampler(pool(sampling), views, sampling, batch=1, seed=0), index)

    found = {}
    for name, plan in plans.items():
        with suppress(NotEnoughDataError):
            found[name] = people(_views(plan), plan.sampling)
    return found


def _views(plan: TrainingPlan) -> Views:
    """Return what a method draws: settings may decide it, so a copy without weights is built."""
    with torch.device("meta"):
        return build_method(plan.method, plan.model).views


def people_of(index: DuckDBPyConnection, names: Iterable[str]) -> TrainedOn:
    """Return all people and recordings of some data sets or parts, as if trained on."""
    return _named(index, condition_of(names))


def save_trained_on(run: Run, sampler: Sampler) -> None:
    """Write who a run is trained on into its folder, before its first step."""
    if not (run.folder / TRAINED_ON_NAME).exists():
        with replacing(run.folder / TRAINED_ON_NAME) as temporary:
            temporary.write_bytes(drawn_from(sampler, run.index).to_json())


def read_trained_on(run: Run) -> TrainedOn:
    """Return who a run was trained on; for a run from before this was saved, found again."""
    try:
        values = json.loads((run.folder / TRAINED_ON_NAME).read_bytes())
    except FileNotFoundError:
        views, sampling = _views(run.plan), run.plan.sampling
        return drawn_from(open_sampler(run.index, views, sampling, batch=1, seed=0), run.index)
    return TrainedOn(
        frozenset(values["subjects"]),
        frozenset(values["recordings"]),
        values.get("synthetic"),
        values.get("hashed", False),
    )


def trained_on_of_file(encoder: Path) -> TrainedOn:
    """Return who the encoder in a file was trained on, as hashes; warn if it does not say."""
    about = read_about(encoder)
    subjects, recordings = (
        frozenset(about.get(key, "").split()) for key in ("trained_subjects", "trained_recordings")
    )
    recorded = bool(subjects)
    if not recorded:
        warnings.warn(
            f"{encoder} does not say who it was trained on, so nobody can check whether they are "
            "tested",
            stacklevel=2,
        )
    return TrainedOn(subjects, recordings, hashed=True, recorded=recorded)


def _named(index: DuckDBPyConnection, chosen: str, **values: object) -> TrainedOn:
    """Return people and recordings, of those that a condition in SQL chooses."""
    rows = index.execute(_NAMED + _NAMES.format(chosen=chosen), values).fetchall()
    return TrainedOn(
        frozenset(subject for subject, _, _ in rows),
        frozenset(content for _, content, _ in rows if content),
        any(synthetic for _, _, synthetic in rows),
    )
