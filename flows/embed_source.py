"""Representations of a file or of a data set in the store, with any encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deaps.embed import embed_dataset, embed_windows, embedding_table
from deaps.models.encoder_file import load_encoder, normalisation_of, require_chain
from deaps.training.device import choose_device
from flows.config import Settings
from flows.ingest.publication import result_settings
from flows.ingest.recording import reason
from preprocessing.chain import ProcessedRecording, process
from preprocessing.datasets import DATASETS
from preprocessing.datasets.folder import read_file
from preprocessing.plausibility import check_recording
from preprocessing.recording import UnreadableRecordingError
from storage.atomic import replacing
from storage.errors import DeapsError
from storage.snapshot import open_index, read_snapshot
from storage.windows.normalisation import standardise


def embed_source(settings: Settings, source: str, encoder: Path | str | None, out: Path) -> int:
    """Write the representations of ``source``, a data set's name or a file; return how many.

    Windows that the gate rejects are left out. They are normalised as those were that the encoder
    was trained on; a file has no data set, so that its windows are normalised by their recording
    instead. A file's windows have recording_id 0.
    """
    if source in DATASETS:
        with open_index(settings.store.root) as index:
            require_chain(encoder, read_snapshot(index).settings)
        return embed_dataset(
            settings.store.root,
            source,
            load_encoder(encoder),
            out,
            normalise=normalisation_of(encoder),
            device=choose_device(settings.execution.device),
        )
    return _embed_file(settings, Path(source), encoder, out)


def _processed(settings: Settings, path: Path) -> ProcessedRecording:
    try:
        raw = check_recording(read_file(path, settings.signal.labels()))
        return process(raw, signal=settings.signal, quality=settings.quality)
    except Exception as error:  # whatever a reader raises concerns the file
        raise UnreadableRecordingError(f"{path}: {reason(error)}") from None


def _embed_file(settings: Settings, path: Path, encoder: Path | str | None, out: Path) -> int:
    if not path.exists():
        raise DeapsError(f"{path} is neither a file nor one of {', '.join(DATASETS)}")
    require_chain(encoder, result_settings(settings))
    processed = _processed(settings, path)
    rows = np.flatnonzero(~processed.gate.rejected).astype(np.int32)
    windows = processed.windows[rows].astype(np.float32)
    if normalisation_of(encoder) == "window":
        standardise(windows)
    device = choose_device(settings.execution.device)
    representations = embed_windows(load_encoder(encoder), windows, device=device)
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as temporary:
        pq.write_table(embedding_table(np.zeros_like(rows), rows, representations), temporary)
    return len(rows)
