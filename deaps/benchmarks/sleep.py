"""Sleep in windows of ten seconds: stages, and apneas and hypopneas."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import pyarrow as pa

from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings, DataPart
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import (
    Columns,
    Examples,
    Fold,
    NotRunError,
    given_sides,
    select_windows,
    subject_folds,
    window_examples,
)
from storage.errors import DeapsError


class SleepStage(Benchmark):
    """Wake, light sleep, deep sleep or REM."""

    name = "sleep-stage"
    title = "Sleep stage: wake, N1 or N2, N3, REM"
    classes: ClassVar[tuple[str, ...]] = ("W", "N1-N2", "N3", "REM")
    metrics = ("kappa",)
    of_stage: ClassVar[dict[str, int]] = {"W": 0, "N1": 1, "N2": 1, "N3": 2, "REM": 3}

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.sleep,) if settings.sleep else ()

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return describe_protocol(settings, labels)

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return QUALITY_RULE

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows drawn; movement and unscored stretches have no part."""
        names = ", ".join(f"'{stage}'" for stage in self.of_stage)
        columns, left_out = sleep_columns(index, settings, f"w.stage IN ({names})")
        labels = np.array([self.of_stage[stage] for stage in columns["stage"]], np.int8)
        if len(np.unique(labels)) < len(self.classes):
            raise NotRunError(f"data set {settings.sleep} does not have all of {self.classes}")
        examples = window_examples(columns, labels)
        return replace(examples, sides=columns["side"]), left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return folds by subject, or the published split."""
        return sleep_folds(examples, settings)


class SleepStageOfThree(SleepStage):
    """Wake, sleep without REM, or REM."""

    name = "sleep-stage-3"
    title = "Sleep stage: wake, NREM, REM"
    classes = ("W", "NREM", "REM")
    of_stage: ClassVar[dict[str, int]] = {"W": 0, "N1": 1, "N2": 1, "N3": 1, "REM": 2}


_ASLEEP = "w.stage IN ('N1', 'N2', 'N3', 'REM')"


class Apnea(Benchmark):
    """Windows asleep: with a second or more of an apnea or hypopnea, or without any."""

    name = "apnea"
    title = "Apnea or hypopnea in the window"
    classes = ("none", "event")
    positive = "event"
    metrics = ("kappa",)

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.sleep,) if settings.sleep else ()

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return describe_protocol(settings, labels)

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return f"{QUALITY_RULE}, asleep; those with less than a second of an event are left out"

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows drawn."""
        breathing = "(w.obstructive_apnea_s + w.central_apnea_s + w.mixed_apnea_s + w.hypopnea_s)"
        condition = f"{_ASLEEP} AND ({breathing} = 0 OR {breathing} >= 1)"
        columns, left_out = sleep_columns(index, settings, condition)
        labels = (columns["breathing_event_s"] > 0).astype(np.int8)
        if len(np.unique(labels)) < len(self.classes):
            raise NotRunError(f"data set {settings.sleep} does not have windows of both kinds")
        examples = window_examples(columns, labels)
        return replace(examples, sides=columns["side"]), left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return folds by subject, or the published split."""
        return sleep_folds(examples, settings)


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
        return "people with one visit, who are never in a pre-training on pairs of visits"
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
