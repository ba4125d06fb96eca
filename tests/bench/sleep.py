"""What stages and events cost: in a night's preprocessing, in a refresh and in a large index."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from flows.config import Settings
from flows.ingest.recording import preprocess_chunk, scoring_digest, stat_source
from flows.ingest.scan import scan
from preprocessing.config import SynthSettings, versions_of
from preprocessing.formats.scoring_xml import read_night
from preprocessing.synth import DATASETS
from preprocessing.synth.physiology.sleep import draw_sleep
from preprocessing.synth.shhs_nights import write_scorings
from storage.publish import publish
from storage.schema import DatasetRow, RecordingRow, Scoring, SourceRole, Status
from tests.bench.figure import Figure
from tests.bench.index import RECORDINGS, WINDOWS, ask
from tests.bench.made_rows import narrow_recordings
from tests.bench.questions import QUESTIONS
from tests.flows.inline import run, settings_for
from tests.storage.made_store import SETTINGS

ALTERNATIONS = 9
NEW_QUESTIONS = ("n3", "rem", "after-apnea")
LONG_AGO_NS = 1_600_000_000 * 10**9
CHANGED, COHORT, HOURS = 100, 2000, 2.0


def measure(folder: Path) -> list[Figure]:
    """Return the cost in a night, in a refresh, and in an index of 16 million windows."""
    return [
        measure_night(folder / "night"),
        measure_refresh(folder / "refresh"),
        *measure_index(folder / "index"),
    ]


def measure_night(folder: Path) -> Figure:
    """Return the CPU time of an 8 h night with both XML files against without."""
    DATASETS["shhs"].write(folder / "with", SynthSettings(shhs_subjects=1, shhs_hours=8.0))
    shutil.copytree(folder / "with", folder / "without")
    for path in (folder / "without").rglob("*.xml"):
        path.unlink()
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    for _ in range(ALTERNATIONS):
        for name, taken in seconds.items():
            settings = settings_for(folder / "store", shhs=folder / name)
            (job, night), *_ = scan(settings).todo()
            started = time.process_time()
            preprocess_chunk(job, [night])
            taken.append(time.process_time() - started)
            shutil.rmtree(folder / "store")
    value = median(seconds["with"]) / median(seconds["without"])
    name = "8 h night with both XML scorings, against without (CPU time)"
    return Figure(name, value, "times as long", 1.08, 1.03, higher=False, seen=seconds)


def measure_refresh(folder: Path) -> Figure:
    """Return a refresh after changed scorings, as a share of preprocessing those recordings."""
    preprocess_s = _preprocess_seconds(folder / "signals")
    settings = _published_cohort(folder)
    changed = sorted((folder / "shhs").rglob("*-nsrr.xml"))[:CHANGED]
    for path in changed:
        path.write_text(path.read_text().replace("Stage 1 sleep|1", "Stage 2 sleep|2"))
        os.utime(path, ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    started = time.process_time()
    run(settings)
    refresh_s = time.process_time() - started
    seen = {"refresh_s": refresh_s, "preprocess_s": preprocess_s}
    name = "refresh after 100 of 2,000 scorings changed, against preprocessing them (CPU time)"
    value = 100 * refresh_s / preprocess_s
    return Figure(name, value, "%", 20, 10, higher=False, seen=seen)


def _preprocess_seconds(folder: Path) -> float:
    """Return the CPU time of as many nights of two hours; six are timed."""
    DATASETS["shhs"].write(folder / "shhs", SynthSettings(shhs_subjects=3, shhs_hours=HOURS))
    jobs = scan(settings_for(folder / "store", shhs=folder / "shhs")).todo()
    started = time.process_time()
    for job, recording in jobs:
        preprocess_chunk(job, [recording])
    return CHANGED * (time.process_time() - started) / len(jobs)


def _published_cohort(folder: Path) -> Settings:
    """Publish 2,000 recordings of two hours; their signals are stood in for by small files."""
    data, store = folder / "shhs", folder / "store"
    n_windows = int(HOURS * 360)
    rows = narrow_recordings(store, COHORT, n_windows)
    shutil.rmtree(store)
    rows = [row for row in narrow_recordings(store, COHORT, n_windows) if row.path]
    settings = settings_for(store, shhs=data)
    for row in rows:
        _write_sources(data, row)
    for path in data.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    job = scan(settings).datasets[0].job
    digest = job.settings_digest(versions_of(job.reader.version, "night.edf"))
    published, scorings = [], {}
    for row in rows:
        row, scoring = _scored(data, replace(row, dataset="shhs", settings_digest=digest))
        published.append(row)
        scorings["shhs", row.name] = scoring
    fingerprint = scan(settings).datasets[0].fingerprint
    publish(
        store,
        published,
        datasets=[DatasetRow("shhs", fingerprint=fingerprint)],
        settings=SETTINGS,
        scorings=scorings,
    )
    return settings


def _write_sources(data: Path, row: RecordingRow) -> None:
    edf = data / f"polysomnography/edfs/shhs{row.visit}/{row.name}.edf"
    edf.parent.mkdir(parents=True, exist_ok=True)
    edf.write_text(row.name)
    night = draw_sleep(HOURS * 3600, 15.0, np.random.default_rng(int(row.subject)))
    write_scorings(data, row.name, row.visit, night, duration_s=HOURS * 3600, differ=False)


def _scored(data: Path, row: RecordingRow) -> tuple[RecordingRow, Scoring]:
    base = "polysomnography"
    paths = {
        f"{base}/edfs/shhs{row.visit}/{row.name}.edf": SourceRole.SIGNAL,
        f"{base}/annotations-events-nsrr/shhs{row.visit}/{row.name}-nsrr.xml": SourceRole.SCORING,
        f"{base}/annotations-events-profusion/shhs{row.visit}/{row.name}-profusion.xml": (
            SourceRole.SCORING
        ),
    }
    sources = tuple(stat_source(str(data), path, str(role)) for path, role in paths.items())
    sources = (replace(sources[0], sha256=row.digest or ""), *sources[1:])
    _, nsrr, profusion = (data / path for path in paths)
    scoring = read_night(nsrr, profusion, duration_s=HOURS * 3600, truncated=False)
    row = replace(
        row,
        duration_s=HOURS * 3600,
        sources=sources,
        checked_at_ns=time.time_ns(),
        scoring_digest=scoring_digest(scoring),
        scoring_notes=scoring.notes,
    )
    return row, scoring


def measure_index(folder: Path) -> list[Figure]:
    """Return the build with stages and events against without, and the slowest question."""
    rows = narrow_recordings(folder / "store", RECORDINGS, WINDOWS)
    nights = [_drawn_scoring(seed) for seed in range(50)]
    seconds: dict[str, float] = {}
    for name in ("without", "with", "without again", "with again"):
        (folder / "store" / "index.duckdb").unlink(missing_ok=True)
        is_scored = name.startswith("with ") or name == "with"
        content = [replace(row, scoring_digest="s" if is_scored else None) for row in rows]
        scorings = {
            (row.dataset, row.name): nights[k % len(nights)]
            for k, row in enumerate(rows)
            if is_scored and row.status is Status.OK
        }
        content = [
            row if (row.dataset, row.name) in scorings else replace(row, scoring_digest=None)
            for row in content
        ]
        datasets = [DatasetRow(dataset) for dataset in sorted({row.dataset for row in rows})]
        started = time.perf_counter()
        publish(folder / "store", content, datasets=datasets, settings=SETTINGS, scorings=scorings)
        seconds[name] = time.perf_counter() - started
    build = min(seconds["with"], seconds["with again"])
    bare = min(seconds["without"], seconds["without again"])
    answers = ask(folder / "store")
    named = {name: answers[name] for name in QUESTIONS if name in answers}
    return [
        Figure(
            "index of 16 million windows with stages and events: build, against without",
            build / bare, "times as long", 1.5, 1.2, higher=False, seen=seconds,
        ),
        Figure(
            "the slowest of the named questions to it, three of them about sleep",
            max(named.values()), "s", 0.5, 0.2, higher=False, seen=named,
        ),
    ]  # fmt: skip


def _drawn_scoring(seed: int) -> Scoring:
    """Return the scoring of a night as long as the index's recordings, drawn and not read."""
    from preprocessing.scoring import ScoredEvent, ScoringDraft, to_scoring

    night = draw_sleep(WINDOWS * 10.0, 15.0, np.random.default_rng(seed))
    draft = ScoringDraft()
    for k, stage in enumerate(night.stages):
        draft.add_old_stage(30.0 * k, 30.0, stage)
    draft.events = [ScoredEvent(e.start_s, e.duration_s, str(e.kind)) for e in night.events]
    return to_scoring(draft)
