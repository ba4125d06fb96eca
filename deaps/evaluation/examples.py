"""What a classifier is given: labelled windows, who they come from, and how they are split."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from deaps.config import DataPart, require_parts
from storage.errors import DeapsError

Strings = NDArray[np.str_]
Integers = NDArray[np.integer]


_ROW_STEP = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with bits all over: rows of one recording get keys far apart."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows in the store, each (m,).

    ``recording_id`` is a number in one index, by which windows are read; an index that is built
    again may give it to another recording. ``content`` is the beginning of the recording's digest,
    which stays: whatever is kept on disk knows windows by it.
    """

    recording_id: NDArray[np.int32]
    row: NDArray[np.int32]
    content: NDArray[np.uint64]

    @property
    def key(self) -> NDArray[np.uint64]:
        """One number for each window, of its recording's content and its row."""
        return self.content + self.row.astype(np.uint64) * _ROW_STEP

    def digest(self) -> str:
        """Return a digest of all windows, whatever their order and their recordings' numbers."""
        return hashlib.sha256(np.sort(self.key).astype("<u8").tobytes()).hexdigest()

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Windows:
        """Return some of the windows."""
        return Windows(self.recording_id[places], self.row[places], self.content[places])

    @classmethod
    def joined(cls, parts: Sequence[Windows]) -> Windows:
        """Return the windows of several, one after the other."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("recording_id", "row", "content")
            )
        )

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples of a benchmark, each array (n,) unless its comment gives another shape.

    An example is a window, or a recording whose windows' features are averaged.
    """

    labels: NDArray[np.int8]
    """Position in the benchmark's classes."""
    subjects: Strings
    """Who it comes from; a subject must stand on one side of a split only."""
    contents: Strings
    """Digest of the recording's signal; equal ones are the same recording."""
    sides: Strings
    """``train`` or ``test`` where the data sets say so, else empty."""
    windows: Windows
    """All windows, (m,) with m >= n."""
    owner: NDArray[np.int64]
    """Example that each window belongs to, (m,), ascending."""

    def __len__(self) -> int:
        return len(self.labels)

    def keep(self, kept: NDArray[np.bool_]) -> Examples:
        """Return the examples where ``kept``, (n,), is true."""
        windows = kept[self.owner]
        renumbered = np.cumsum(kept) - 1
        return Examples(
            self.labels[kept],
            self.subjects[kept],
            self.contents[kept],
            self.sides[kept],
            self.windows.at(windows),
            renumbered[self.owner[windows]],
        )


def average_windows(
    features: NDArray[np.floating], owner: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return each example's mean, (n, d), of its windows' features, (m, d).

    Unknown values (NaN) are left out of the mean; where all are unknown, so is the mean.
    """
    finite = np.isfinite(features)
    counts = np.bincount(owner)
    if len(counts) == len(owner):  # a window each: the sums below would take longer
        return np.where(finite, features, np.nan).astype(np.float64)
    starts = np.cumsum(counts) - counts
    sums = np.add.reduceat(np.where(finite, features, 0).astype(np.float64), starts, axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / np.add.reduceat(finite.astype(np.int64), starts, axis=0))


@dataclass(frozen=True, slots=True)
class Fold:
    """One split of examples: positions of those fitted on and those tested."""

    name: str
    train: NDArray[np.int64]
    test: NDArray[np.int64]


class NotRunError(DeapsError):
    """A benchmark that cannot be run; the message is what the report prints."""


SELECTION = """
    SELECT w.recording_id, w."row", r.dataset || '/' || r.subject AS subject,
           ('0x' || coalesce(r.digest, r.file_sha256)[:16])::UBIGINT AS windows_content,
           coalesce(s.content, '') AS content, w.quality::VARCHAR AS quality,
           CASE WHEN coalesce(w.rhythm_share, 1) = 1 THEN w.rhythm::VARCHAR END AS rhythm,
           r.sex, r.label, r.split,
           CASE WHEN w.stage_share = 1 THEN w.stage::VARCHAR END AS stage,
           w.obstructive_apnea_s + w.central_apnea_s + w.mixed_apnea_s + w.hypopnea_s
               AS breathing_event_s
    FROM passed_windows w
    JOIN recordings r USING (recording_id)
    LEFT JOIN (
        SELECT recording_id, string_agg(sha256, ' ' ORDER BY path) AS content
        FROM sources WHERE role = 'signal' GROUP BY recording_id
    ) s USING (recording_id)
    WHERE r.status = 'ok' AND r.dataset = $dataset AND ($part IS NULL OR r.split = $part)
"""
"""Windows that pass the gate, with what is known of them. A rhythm, and a stage, counts where it
covers the whole window."""

Columns = dict[str, NDArray[Any]]


def select_windows(
    index: duckdb.DuckDBPyConnection, source: str, condition: str = "true", **values: object
) -> Columns:
    """Return the windows that fulfil a condition in SQL, by recording and row.

    ``source`` is a data set, or a part of it such as ``cpsc2021:set-II``.

    Raises
    ------
    NotRunError
        If the data set is not in the index.
    DeapsError
        If it is, but without that part.
    """
    wanted = DataPart.parse(source)
    _require_windows(index, wanted)
    sql = f'SELECT * FROM ({SELECTION}) WHERE {condition} ORDER BY recording_id, "row"'
    values |= {"dataset": wanted.dataset, "part": wanted.part}
    columns = index.execute(sql, values).fetchnumpy()
    return {name: np.ma.filled(column, None) for name, column in columns.items()}


def _require_windows(index: duckdb.DuckDBPyConnection, wanted: DataPart) -> None:
    """Refuse a data set without windows in the index, and a part that it does not have."""
    sql = "SELECT count(*) FROM recordings WHERE dataset = $dataset AND n_windows > 0"
    row = index.execute(sql, {"dataset": wanted.dataset}).fetchone()
    if row is None or row[0] == 0:
        raise NotRunError(f"no windows of data set {wanted.dataset} in the index")
    require_parts(index, [str(wanted)], setting="benchmarks")


def draw_windows(columns: Columns, each: int, seed: int) -> Columns:
    """Return at most ``each`` windows of every subject, in their order."""
    rng = np.random.Generator(np.random.Philox(key=[seed, 1]))
    order = rng.permutation(len(columns["row"]))
    by_subject = order[np.argsort(columns["subject"][order].astype(str), kind="stable")]
    names = columns["subject"][by_subject].astype(str)
    first = np.concatenate([[True], names[1:] != names[:-1]]) if len(names) else np.zeros(0, bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(len(names)), 0))
    kept = np.sort(by_subject[np.arange(len(names)) - starts < each])
    return {name: column[kept] for name, column in columns.items()}


def window_examples(columns: Columns, labels: NDArray[np.integer], side: str = "") -> Examples:
    """Return one example for each window."""
    n = len(labels)
    return Examples(
        np.asarray(labels, np.int8),
        columns["subject"].astype(str),
        columns["content"].astype(str),
        np.full(n, side),
        _windows(columns),
        np.arange(n),
    )


def recording_examples(
    columns: Columns, labels: NDArray[np.integer], sides: NDArray[np.str_]
) -> Examples:
    """Return one example for each recording; ``labels`` and ``sides`` are its windows'."""
    _, first, owner = np.unique(columns["recording_id"], return_index=True, return_inverse=True)
    return Examples(
        np.asarray(labels, np.int8)[first],
        columns["subject"].astype(str)[first],
        columns["content"].astype(str)[first],
        sides[first],
        _windows(columns),
        owner,
    )


def _windows(columns: Columns) -> Windows:
    return Windows(
        columns["recording_id"].astype(np.int32),
        columns["row"].astype(np.int32),
        columns["windows_content"].astype(np.uint64),
    )


def joined(first: Examples, second: Examples) -> Examples:
    """Return the examples of both, the first's before the second's."""
    return Examples(
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.subjects, second.subjects]),
        np.concatenate([first.contents, second.contents]),
        np.concatenate([first.sides, second.sides]),
        Windows.joined([first.windows, second.windows]),
        np.concatenate([first.owner, second.owner + len(first)]),
    )


def given_sides(examples: Examples) -> list[Fold]:
    """Return the one split that the data sets themselves make."""
    train = np.flatnonzero(examples.sides == "train")
    test = np.flatnonzero(examples.sides == "test")
    return [Fold("test", train, test)]


def leave_one_subject_out(examples: Examples) -> list[Fold]:
    """Return a fold for each subject, in the order of their names."""
    names = np.unique(examples.subjects)
    if len(names) < 2:
        raise NotRunError(f"leaving one subject out needs two of them; there are {len(names)}")
    return [
        Fold(
            name.split("/", 1)[-1],
            np.flatnonzero(examples.subjects != name),
            np.flatnonzero(examples.subjects == name),
        )
        for name in names
    ]


def subject_folds(examples: Examples, n_folds: int, seed: int) -> list[Fold]:
    """Return seeded folds in which classes are balanced and no subject is split."""
    labels = np.unique(examples.labels)
    rarest = min(len(np.unique(examples.subjects[examples.labels == c])) for c in labels)
    if rarest < n_folds:
        raise NotRunError(
            f"{n_folds} folds need as many subjects of each class; of one there are {rarest}"
        )
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    splits = splitter.split(examples.labels, examples.labels, examples.subjects)
    return [Fold(f"fold {i}", train, test) for i, (train, test) in enumerate(splits, start=1)]


def few_labels(examples: Examples, each: int, draws: int, seed: int) -> list[Fold]:
    """Return draws of ``each`` examples of every class to fit on; the others are tested."""
    counts = np.bincount(examples.labels)
    if counts.min() <= each:
        raise NotRunError(f"needs more than {each} examples of each class; there are {counts}")
    folds = []
    for draw in range(draws):
        rng = np.random.Generator(np.random.Philox(key=[seed, draw]))
        shuffled = rng.permutation(len(examples))
        by_class = [shuffled[examples.labels[shuffled] == c][:each] for c in range(len(counts))]
        train = np.sort(np.concatenate(by_class))
        test = np.setdiff1d(np.arange(len(examples)), train)
        folds.append(Fold(f"draw {draw + 1}", train, test))
    return folds


def guarded(examples: Examples, folds: Sequence[Fold]) -> tuple[Fold, ...]:
    """Return the folds after a check that none of them leaks.

    Raises
    ------
    DeapsError
        If a subject, or two recordings with the same signal, stand on both sides of a fold, or a
        side is empty.
    """
    for fold in with_both_sides(folds):
        _refuse_shared(fold, examples.subjects, "subject")
        _refuse_shared(fold, examples.contents, "recording")
    return tuple(folds)


def with_both_sides(folds: Sequence[Fold]) -> tuple[Fold, ...]:
    """Return the folds after a check that no side is empty, and no other."""
    for fold in folds:
        _refuse_empty(fold)
    return tuple(folds)


def _refuse_empty(fold: Fold) -> None:
    for side in ("train", "test"):
        if len(getattr(fold, side)) == 0:
            raise DeapsError(f"fold {fold.name!r} has an empty {side} side")


def _refuse_shared(fold: Fold, names: np.ndarray, what: str) -> None:
    shared = np.intersect1d(names[fold.train], names[fold.test])
    shared = shared[shared != ""]
    if len(shared):
        raise DeapsError(
            f"fold {fold.name!r}: {len(shared)} {what}s are both fitted on and tested, "
            f"for example {shared[0]}"
        )


def without_copies_of_tested(examples: Examples) -> tuple[Examples, int]:
    """Return the examples without training copies of tested recordings, and how many went.

    The Challenge's public validation recordings are part of its training set.
    """
    tested = examples.sides == "test"
    same_content = np.isin(examples.contents, examples.contents[tested]) & (examples.contents != "")
    same_subject = np.isin(examples.subjects, examples.subjects[tested])
    copies = ~tested & (same_content | same_subject)
    return examples.keep(~copies), int(copies.sum())
