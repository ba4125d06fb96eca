"""Windows of scored sleep: whose, how many, and on which side of a published split."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from deaps.config import BenchmarkSettings
from deaps.data_part import DataPart
from deaps.evaluation import DatasetLabels
from deaps.probing.examples import Examples, Fold
from deaps.probing.folds import given_sides, subject_folds
from deaps.probing.labelled_windows import Columns, NotRunError, select_windows
from storage.errors import DeapsError

_ELIGIBLE = """
    SELECT w.recording_id, w."row", r.name, r.subject
    FROM passed_windows w JOIN recordings r USING (recording_id)
    WHERE r.status = 'ok' AND r.dataset = $dataset AND ($part IS NULL OR r.split = $part)
      AND w.stage_share = 1 AND {condition} AND ({people})
    ORDER BY w.recording_id, w."row"
"""
_ONE_VISIT = """
    r.subject NOT IN (
        SELECT subject FROM recordings WHERE dataset = $dataset AND status = 'ok'
        GROUP BY subject HAVING count(DISTINCT visit) > 1
    )
"""
_SIDES = {"train": "train", "val": "", "validation": "", "valid": "", "test": "test"}
"""Sides of a published split; windows of its validation part are not used."""


def sleep_columns(
    index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings, condition: str
) -> tuple[Columns, tuple[str, ...]]:
    """Return the windows drawn of those that fulfil a condition in SQL, and what was left out.

    A column ``side`` has the side of each in the published split, empty without one.
    """
    source = str(settings.sleep)
    part = DataPart.parse(source)
    people = _ONE_VISIT if settings.sleep_people == "one visit" else "true"
    sql = _ELIGIBLE.format(condition=condition, people=people)
    eligible = index.execute(sql, {"dataset": part.dataset, "part": part.part}).fetchnumpy()
    sides = _sides(eligible, settings.sleep_split)
    usable = np.flatnonzero(sides != "") if settings.sleep_split else np.arange(len(sides))
    drawn, note = _draw(usable, settings)
    chosen = {name: eligible[name][drawn] for name in ("recording_id", "row")}
    index.register("drawn_windows", pa.table(chosen))
    wanted = '(recording_id, "row") IN (SELECT (recording_id, "row") FROM drawn_windows)'
    columns = select_windows(index, source, wanted)
    index.unregister("drawn_windows")
    return columns | {"side": sides[drawn]}, note


def _draw(usable: np.ndarray, settings: BenchmarkSettings) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return places of the windows drawn, in order, and a note if there are fewer than asked."""
    if not len(usable):
        raise NotRunError(
            f"data set {settings.sleep} has no such windows with a sleep stage of "
            f"{describe_people(settings)}"
        )
    if settings.sleep_windows == "all" or len(usable) <= settings.sleep_windows:
        return usable, ()
    rng = np.random.Generator(np.random.Philox(key=[settings.seed, 2]))
    drawn = np.sort(rng.choice(usable, settings.sleep_windows, replace=False))
    return drawn, (f"{len(usable) - len(drawn):,} further windows, not drawn",)


def _sides(eligible: Columns, path: Path | None) -> np.ndarray:
    n = len(eligible["row"])
    if path is None:
        return np.full(n, "", dtype="U5")
    split = read_split(path)
    pairs = zip(eligible["name"], eligible["subject"], strict=True)
    parts = [split.get(str(name), split.get(str(subject), "")) for name, subject in pairs]
    return np.array(parts, dtype="U5") if parts else np.full(n, "", dtype="U5")


def read_split(path: Path) -> dict[str, str]:
    """Return the side of each subject or recording that a published split names.

    The file is a table with the columns ``id`` (a subject such as 200001, or a recording such as
    shhs1-200001) and ``split`` (train, val or test).

    Raises
    ------
    DeapsError
        If it cannot be read so.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DeapsError(f"benchmarks.sleep_split {path} cannot be read ({error})") from None
    sides = {}
    for number, row in enumerate(rows, start=2):  # row 1 has the names of the columns
        side = (row.get("split") or "").strip().lower()
        if side not in _SIDES or not row.get("id"):
            raise DeapsError(
                f"benchmarks.sleep_split {path} is wrong in row {number}; expected the columns id "
                f"and split, with split one of {', '.join(_SIDES)}"
            )
        sides[row["id"].strip()] = _SIDES[side]
    return sides


def sleep_folds(examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
    """Return the published split, or folds by subject: no more than there are subjects."""
    if settings.sleep_split is not None:
        if set(examples.sides) != {"train", "test"}:
            raise NotRunError(f"{settings.sleep_split} does not have both sides of these people")
        return given_sides(examples)
    labels = np.unique(examples.labels)
    rarest = min(len(np.unique(examples.subjects[examples.labels == c])) for c in labels)
    if rarest < 2:
        raise NotRunError("folds by subject need two people with each class; of one there is one")
    return subject_folds(examples, min(settings.folds, rarest), settings.seed)


def describe_people(settings: BenchmarkSettings) -> str:
    """Return in words whose windows are used."""
    if settings.sleep_people == "one visit":
        return "people with one visit, whom a pre-training on pairs of visits never sees"
    return "all people"


def describe_protocol(settings: BenchmarkSettings, labels: DatasetLabels) -> str:
    """Return in words what is fitted and tested on what."""
    source = DataPart.parse(str(settings.sleep)).label(labels)
    if settings.sleep_windows == "all":
        which = "All windows"
    else:
        which = f"At most {settings.sleep_windows:,} windows, drawn by seed,"
    where = f"of {source}, {describe_people(settings)}"
    if settings.sleep_split is not None:
        return f"{which} {where}; fitted and tested as {settings.sleep_split.name} says."
    return f"{which} {where}; up to {settings.folds} folds; no subject is split."


QUALITY_RULE = "windows that pass the gate and lie within one stage"
