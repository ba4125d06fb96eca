"""The whole synthetic cohort, every data set in the tree and the formats of its owner."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth.afdb import AFDB
from preprocessing.synth.afpdb import AFPDB
from preprocessing.synth.challenge2017 import CHALLENGE2017
from preprocessing.synth.cpsc2021 import CPSC2021
from preprocessing.synth.ecgiddb import ECGIDDB
from preprocessing.synth.mitdb import MITDB
from preprocessing.synth.recording import SynthDataset
from preprocessing.synth.shhs import SHHS
from storage.files import SYNTHETIC_NAME

DATASETS: dict[str, SynthDataset] = {
    dataset.name: dataset
    for dataset in (SHHS, MITDB, AFDB, CHALLENGE2017, AFPDB, ECGIDDB, CPSC2021)
}

_MARK = (
    "These recordings are synthetic: `deaps synth` made them, and no person was recorded.\n"
    "Keep this file next to them: the store, the encoders and the report say it by this mark.\n"
)


def _write_one(root: Path, settings: SynthSettings, job: tuple[str, str]) -> None:
    dataset, record = job
    DATASETS[dataset].write_record(root / dataset, settings, record)


def _ignore_signals() -> None:
    """Let Ctrl-C, which reaches all processes of a terminal, stop the parent alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def write_cohort(
    root: Path,
    settings: SynthSettings,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Path]:
    """Write every data set that has records and return the root of each.

    The same settings give the same bytes, with any number of workers. A larger cohort holds the
    files of a smaller one unchanged; only its tables grow.

    Parameters
    ----------
    workers
        Processes that write records; with 1 none is started.
    progress
        Called with the records that are written and those in all.
    """
    jobs = [(name, record) for name, d in DATASETS.items() for record in d.records(settings)]
    write = partial(_write_one, root, settings)
    if workers == 1:
        for done, job in enumerate(jobs, start=1):
            write(job)
            progress(done, len(jobs))
    else:
        with ProcessPoolExecutor(workers, initializer=_ignore_signals) as pool:
            for done, _ in enumerate(pool.map(write, jobs, chunksize=1), start=1):
                progress(done, len(jobs))
    roots = {name: root / name for name in dict.fromkeys(name for name, _ in jobs)}
    for name, folder in roots.items():
        DATASETS[name].write_tables(folder, settings)
        (folder / SYNTHETIC_NAME).write_text(_MARK, encoding="utf-8")
    return roots
