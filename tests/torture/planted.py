"""Bugs to plant in the program, each of which the harness has to catch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import flows.ingest.publication
import flows.ingest.recording
import storage.files
import storage.publish
import storage.windows
from deaps.evaluation.examples import Windows
from deaps.models import encoder_file
from deaps.sampling import window_pool
from flows.experiment import state
from flows.ingest.recording import Job
from flows.runtime import console, local_server
from preprocessing import chain, scoring
from preprocessing.datasets import wfdb_dataset
from preprocessing.formats import edf, wfdb_annotations, wfdb_record
from preprocessing.formats.wfdb_header import WfdbSignal
from preprocessing.user_folder import names, table
from preprocessing.user_folder.names import FileNames
from storage.index import published

VARIABLE = "TORTURE_BUG"


@contextmanager
def bug() -> Iterator[None]:
    """Plant the bug that the environment names, in this process."""
    name = os.environ.get(VARIABLE, "")
    if name:
        _PLANT[name]()
    yield


def _skip_fsync() -> None:
    storage.files.fsync_path = lambda path: None


def _publish_before_the_last_file() -> None:
    write = flows.ingest.recording.write_window_file
    delayed: list[tuple[Any, ...]] = []

    def late(path: Path, *rest: Any) -> Any:
        row = write(path, *rest)
        if not delayed:
            delayed.append((path, path.read_bytes()))
            path.unlink()
        return row

    flows.ingest.recording.write_window_file = late
    storage.publish.check_rows = lambda *_: None
    publish = flows.ingest.publication.publish

    def then_write(*args: Any, **options: Any) -> Any:
        for path, content in delayed:
            path.write_bytes(content)  # the index reads it, so it is there for a moment
        snapshot = publish(*args, **options)
        for path, _ in delayed:
            path.unlink()
        return snapshot

    flows.ingest.publication.publish = then_write


def _forget_the_rename() -> None:
    """Write window files in place: a kill leaves half of one under its final name."""

    @contextmanager
    def in_place(path: Path, **_: Any) -> Iterator[Path]:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path

    storage.windows.replacing = in_place


def _drop_one_row() -> None:
    fill = storage.publish.fill_index

    def dropping(connection: Any, root: Path, content: Any, ids: Any) -> None:
        fill(connection, root, content, ids)
        connection.execute("DELETE FROM windows WHERE rowid = 1")

    storage.publish.fill_index = dropping
    storage.publish.check_index = lambda _: None


def _put(where: Any, name: str, value: Any) -> Callable[[], None]:
    if not hasattr(where, name):
        raise AttributeError(f"{where.__name__} has no {name}: nothing would be planted")
    return lambda: setattr(where, name, value)


def _averaged_frames() -> None:
    read = wfdb_record._read_lead

    def averaged(path: Path, header: Any, index: int) -> Any:
        raw, k = read(path, header, index), header.signals[index].samples_per_frame
        return replace(raw, signal=raw.signal.reshape(-1, k).mean(axis=1), fs=raw.fs / k)

    wfdb_record._read_lead = averaged


def _dates_cell_by_cell() -> None:
    by_date = table._by_date

    def each(texts: Sequence[str], subjects: Sequence[str]) -> Any:
        plain = [
            next((str(d) for order in table._IN_ORDER if (d := table._date(text, order))), text)
            for text in texts
        ]
        return by_date(plain, subjects)

    table._by_date = each


def _shifted_rows() -> None:
    read = table.read_table

    def shifted(*args: Any, **options: Any) -> Any:
        table = read(*args, **options | {"fits": None})
        table.surplus.clear()
        return table

    table.read_table = shifted


def _only_names_of_files() -> None:
    """Take the header's own name for that of its signal file, and compare files alone."""
    named = wfdb_dataset._named_files

    def own(root: Path, header: str) -> Iterator[Any]:
        stem = header.rpartition(".")[0]
        return ((f"{stem}.dat", role) for path, role in named(root, header))

    def files(row: Any) -> Iterator[tuple[str, ...]]:
        if row.status == "ok":
            yield tuple(s.sha256 for s in row.sources if s.role == "signal")

    wfdb_dataset._named_files, published._contents = own, files


def _any_folder() -> None:
    find = FileNames.find
    FileNames.find = lambda self, text: find(self, text.rpartition("/")[2])  # type: ignore[method-assign]


def _no_bdf_stages() -> None:
    read = edf.read_edf_annotations
    edf.read_edf_annotations = lambda path: None if path.suffix.lower() == ".bdf" else read(path)


def _no_gain_note() -> None:
    calibration = WfdbSignal.calibration
    WfdbSignal.calibration = (
        lambda self, **rest: (  # type: ignore[method-assign,assignment]
            *calibration(self, **rest)[:3],
            None,
        )
    )


def _open_door() -> None:
    local_server.is_own_request = lambda *_: True
    os.environ.pop("PREFECT_SERVER_API_AUTH_STRING", None)
    os.environ.pop("PREFECT_SERVER_CSRF_PROTECTION_ENABLED", None)
    os.environ["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] = "*"


def _extremes(values: Any, **_: Any) -> list[Any]:
    return [] if values.size == 0 or values.min() == values.max() else [values.min(), values.max()]


def _forget_chains() -> None:
    window_pool.read_chain = lambda *_, **__: None
    encoder_file.read_chains = lambda *_, **__: []


_PLANT: dict[str, Callable[[], None]] = {
    "skip an fsync": _skip_fsync,
    "publish before the last file": _publish_before_the_last_file,
    "forget the rename": _forget_the_rename,
    "drop one row": _drop_one_row,
    "mix chains": _forget_chains,
    "features by number": _put(
        Windows, "key", property(lambda w: (w.recording_id.astype(np.uint64) << np.uint64(32))
                                 | w.row.astype(np.uint64))
    ),
    "a split by its path": _put(state, "_content", str),
    "runs by their names": _put(state, "encoder_digests", lambda _: {}),
    "one version for all readers": _put(Job, "versions", lambda *_: "windows=1"),
    "drift": _put(chain, "_MAX_DRIFT_S", float("inf")),
    "no time resolution": _put(wfdb_annotations, "_resolution", lambda _: None),
    "averaged frames": _averaged_frames,
    "dates cell by cell": _dates_cell_by_cell,
    "any folder": _any_folder,
    "id first": _put(
        table, "LAST_RESORTS", frozenset()
    ),
    "shifted rows": _shifted_rows,
    "the last row wins": _put(table, "_contradictions", lambda *_: []),
    "two sexes": _put(table, "_refuse_two_sexes", lambda *_: None),
    "stages of another length": _put(scoring, "length_note", lambda *_: None),
    "stages of another format": _put(names, "_are_one", lambda *_: True),
    "another's signal": _only_names_of_files,
    "rails at the extremes": _put(chain, "_rails", _extremes),
    "no stages of BDF+": _no_bdf_stages,
    "a gain of 0 unsaid": _no_gain_note,
    "an open door": _open_door,
    "names as they are": _put(console, "printable", str),
}  # fmt: skip

BUGS = tuple(_PLANT)
"""What `python -m tests.torture --plant` tries: with each of them a row has to fail."""

CAUGHT_BY = {
    "skip an fsync": ("durable-order", "0-4"),
    "publish before the last file": ("kill-preprocess", "0-9"),
    "forget the rename": ("durable-order", "0-4"),
    "drop one row": ("kill-preprocess", "0-4"),
    "mix chains": ("results", "not sampled as one"),
    "features by number": ("results", "another content under the same number"),
    "a split by its path": ("results", "another content of the split's file"),
    "runs by their names": ("results", "trained again under its name"),
    "one version for all readers": ("relations", "a new version of WFDB's reader"),
    "drift": ("truth", "0-39"),
    "no time resolution": ("relations", "in a time resolution of the file's own"),
    "averaged frames": ("relations", "five samples a frame"),
    "dates cell by cell": ("relations", "month first"),
    "any folder": ("relations", "of another folder's name that is not here"),
    "id first": ("relations", "beside row numbers called id"),
    "shifted rows": ("relations", "a separator and no quotes"),
    "the last row wins": ("relations", "contradict each other"),
    "two sexes": ("relations", "one person with two sexes"),
    "stages of another length": ("relations", "stages of twice the length"),
    "stages of another format": ("relations", "stages of another format's name"),
    "another's signal": ("relations", "names another's signal"),
    "rails at the extremes": ("relations", "two glitches beyond the rails"),
    "no stages of BDF+": ("truth", "0-39"),
    "a gain of 0 unsaid": ("relations", "no gain in a header"),
    "an open door": ("doors", "0"),
    "names as they are": ("results", "none of their control characters"),
}
"""The row that catches each, and which of its tries: numbers, or words of a relation's sentence."""
