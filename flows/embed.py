"""Representations of files, folders and data sets in the store, with any encoder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deaps.embedding_file import (
    AboutEmbeddings,
    EmbeddingCounts,
    EmbeddingWriter,
    require_ours,
    writing_embeddings,
)
from flows.config import Settings
from flows.ingest.publication import result_settings
from flows.ingest.recording import reason
from preprocessing.chain import ProcessedRecording, process
from preprocessing.channels import LIST_CHANNELS
from preprocessing.config import WINDOWS_VERSION
from preprocessing.datasets import DATASETS
from preprocessing.datasets.folder import own_subject, read_file
from preprocessing.plausibility import check_recording, reading_memory
from preprocessing.recording import FoundRecording, RawRecording, UnreadableRecordingError
from preprocessing.user_folder.files import recordings_at
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.files import file_sha256
from storage.packages import installed_versions
from storage.schema import GATE_FLAGS, WINDOW_S, Quality, Stage
from storage.snapshot import Chain, open_index, read_chain, read_chains, read_snapshot
from storage.window_store import standardise

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from flows.runtime.progress import StageProgress


Notify = Callable[[str], None]
_SUFFIX = ".embeddings.parquet"


class _ChosenEncoder(NamedTuple):
    """The file of an encoder, found once: a hub may be asked for it."""

    file: Path
    name: str


@dataclass(frozen=True, slots=True)
class _LoadedEncoder:
    """An encoder, ready for use, and how its windows are normalised."""

    module: nn.Module
    device: Any
    normalise: Normalisation


@dataclass(slots=True)
class Embedded:
    """What was written: the file, how many windows, what was skipped, and pictures."""

    out: Path
    counts: EmbeddingCounts = field(default_factory=EmbeddingCounts)
    skipped: list[str] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)


def default_out(source: str) -> Path:
    """Return the file for a source's embeddings, in the working folder."""
    path = Path(source)
    name = path.stem if path.is_file() else path.resolve().name
    return Path((source if source in DATASETS else name) + _SUFFIX)


def embed_source(
    settings: Settings,
    source: str,
    encoder: Path | str | None,
    out: Path,
    *,
    keep_rejected: bool = False,
    plot: bool = False,
    notify: Notify = lambda text: None,
) -> Embedded:
    """Write the representations of ``source``: a data set's name, a file, a record or a folder.

    They are normalised as the windows were that the encoder was trained on. A file has no data
    set, so an encoder that needs its mean is refused. In a folder a file that cannot be read is
    skipped, with its reason.

    Parameters
    ----------
    keep_rejected
        Write windows that the gate rejects, too.
    plot
        Draw each recording as PNG and SVG next to ``out``.
    say
        Takes sentences on what is being done.
    """
    require_ours(out)
    if source in DATASETS:
        if plot:
            raise DeapsError("--plot draws files; for a recording of the store: deaps show NAME")
        return _embed_dataset(
            settings, source, _chosen(encoder), out, keep_rejected=keep_rejected, notify=notify
        )
    if not Path(source).exists() and not list(Path(source).parent.glob(f"{Path(source).name}.*")):
        raise DeapsError(f"{source} is neither a file nor one of {', '.join(sorted(DATASETS))}")
    return _embed_files(
        settings,
        Path(source),
        _chosen(encoder),
        out,
        keep_rejected=keep_rejected,
        plot=plot,
        notify=notify,
    )


def _chosen(encoder: Path | str | None) -> _ChosenEncoder:
    from deaps.models.encoder_file import encoder_file, encoder_name

    return _ChosenEncoder(encoder_file(encoder), encoder_name(encoder))


def _about(
    source: str, encoder: _ChosenEncoder, settings: dict[str, Any], snapshot: str | None = None
) -> AboutEmbeddings:
    from deaps.models.encoder_file import normalisation_of, read_about, read_contract

    trained, contract = read_about(encoder.file), read_contract(encoder.file)
    shown = ("method", "run", "step", "snapshot", "architecture")
    return AboutEmbeddings(
        source=source,
        encoder=encoder.name,
        encoder_sha256=file_sha256(encoder.file),
        normalise=normalisation_of(encoder.file),
        settings=settings,
        trained={
            **{key: trained[key] for key in shown if key in trained},
            "synthetic": contract.synthetic if contract else None,
        },
        snapshot=snapshot,
        version=installed_versions(("deaps",)).get("deaps", ""),
    )


def _load(
    settings: Settings, encoder: _ChosenEncoder, about: AboutEmbeddings, notify: Notify
) -> _LoadedEncoder:
    notify(f"loading encoder {encoder.name} ...")
    if about.trained["synthetic"]:
        notify("it was trained on synthetic data: its representations say nothing about people")
    from deaps.models.contract import listed_leads
    from deaps.models.encoder_file import load_encoder, normalisation_of, read_contract
    from deaps.training.device import choose_device

    contract = read_contract(encoder.file)
    if contract and contract.channels:
        notify(f"it was trained on these leads: {listed_leads(contract.channels)}")
    device = choose_device(settings.execution.device)
    return _LoadedEncoder(load_encoder(encoder.file), device, normalisation_of(encoder.file))


def _embed_dataset(
    settings: Settings,
    dataset: str,
    encoder: _ChosenEncoder,
    out: Path,
    *,
    keep_rejected: bool,
    notify: Notify,
) -> Embedded:
    from deaps.models.encoder_file import require_chain_of_store

    with open_index(settings.store.root) as index:
        snapshot = read_snapshot(index)
        of_dataset = "dataset = $dataset"
        require_chain_of_store(encoder.file, index, of_dataset, dataset=dataset)
        if not settings.sampling.mixed_chains:
            read_chain(index, of_dataset, dataset=dataset)
        chains = read_chains(index, of_dataset, dataset=dataset)
    made_with = chains[0].settings if chains else {}
    about = _about(dataset, encoder, made_with, snapshot.snapshot_id)
    loaded = _load(settings, encoder, about, notify)
    from deaps.embed import embed_dataset

    with _progress(f"embedding {dataset}: windows") as bar:
        counts = embed_dataset(
            settings.store.root,
            dataset,
            loaded.module,
            out,
            normalise=loaded.normalise,
            device=loaded.device,
            about=about,
            keep_rejected=keep_rejected,
            progress=bar.move,
        )
    return Embedded(out, counts)


def _progress(title: str, total: int = 0) -> StageProgress:
    from flows.runtime.progress import StageProgress

    return StageProgress(title, total, key="embedding-progress")


def _embed_files(
    settings: Settings,
    path: Path,
    encoder: _ChosenEncoder,
    out: Path,
    *,
    keep_rejected: bool,
    plot: bool,
    notify: Notify,
) -> Embedded:
    from deaps.models.encoder_file import require_chain

    root, found = recordings_at(path)
    made_with = result_settings(settings)
    require_chain(encoder.file, Chain(made_with, WINDOWS_VERSION))
    about = _about(path.name, encoder, made_with)
    if about.normalise == "dataset":
        raise DeapsError(
            f"encoder {about.encoder} expects windows normalised by their data set, and {path} "
            "belongs to none. Read its folder into a store (deaps init, deaps preprocess) and run "
            "deaps embed folder, or use an encoder of another store.normalise"
        )
    done = Embedded(out)
    notify(f"reading {found[0].name} ..." if len(found) == 1 else f"{len(found):,} recordings")
    readable = _readable(settings, root, found, done.skipped)
    first = next(readable, None)
    if first is None:
        raise DeapsError("\n".join(["no recording could be read:", *done.skipped]))
    loaded = _load(settings, encoder, about, notify)
    bar = _progress("embedding: recordings" if len(found) > 1 else "embedding: windows", len(found))
    with writing_embeddings(out, about) as writer, bar:
        for recording, raw, processed in chain((first,), readable):
            embeddings = _write(
                writer,
                recording,
                processed,
                loaded,
                keep_rejected=keep_rejected,
                bar=bar if len(found) == 1 else None,
            )
            if plot:
                scored = (root, recording, raw)
                done.pictures += draw_recording(
                    processed, embeddings, about.encoder, out.parent, scored
                )
            if len(found) > 1:
                bar.advance(1, recording.name)
    done.counts = EmbeddingCounts(writer.n_windows, writer.n_left_out, dict(writer.left_out))
    return done


def _readable(
    settings: Settings, root: Path, found: list[FoundRecording], skipped: list[str]
) -> Iterator[tuple[FoundRecording, RawRecording, ProcessedRecording]]:
    """Yield the recordings that can be read, processed; add to ``skipped`` why others cannot."""
    for recording in found:
        try:
            yield recording, *_processed(settings, root, recording)
        except UnreadableRecordingError as error:
            if len(found) == 1:
                raise
            skipped.append(str(error))


def _processed(
    settings: Settings, root: Path, recording: FoundRecording
) -> tuple[RawRecording, ProcessedRecording]:
    path = root / recording.files[0][0]
    try:
        with reading_memory(settings.execution.recording_bytes):
            raw = check_recording(read_file(path, settings.signal.labels()))
        return raw, process(raw, signal=settings.signal, quality=settings.quality)
    except Exception as error:  # whatever a reader raises concerns the file
        why = reason(error).replace(LIST_CHANNELS, f"deaps channels {shlex.quote(str(path))}")
        raise UnreadableRecordingError(f"{path}: {why}") from None


def _write(
    writer: EmbeddingWriter,
    recording: FoundRecording,
    processed: ProcessedRecording,
    loaded: _LoadedEncoder,
    *,
    keep_rejected: bool,
    bar: StageProgress | None,
) -> NDArray[np.float32]:
    """Write the windows of one recording; return the representations of all of them.

    Of windows that are left out the representations are NaN.
    """
    from deaps.embed import embed_windows

    gate, n = processed.gate, len(processed.windows)
    rows = np.arange(n) if keep_rejected else np.flatnonzero(~gate.rejected)
    windows = processed.windows[rows].astype(np.float32)
    if loaded.normalise == "window":
        standardise(windows)
    if bar is not None:
        bar.move(0, len(windows))
    advance = bar.advance if bar is not None else lambda _: None
    embeddings = embed_windows(loaded.module, windows, device=loaded.device, advance=advance)
    flags = {name: getattr(gate, name) for name in GATE_FLAGS}
    facts = {
        "recording": recording.name,
        "subject": recording.subject,
        "visit": recording.visit,
        "row": rows.astype(np.int32),
        "start_s": rows * float(WINDOW_S),
        "quality": QUALITIES[processed.scores.quality[rows]],
        "hr_mean": processed.scores.hr_mean[rows],
        **{name: values[rows] for name, values in flags.items()},
    }
    writer.write(facts, embeddings)
    if not keep_rejected:
        writer.leave_out(flags)
    whole = np.full((n, embeddings.shape[1]), np.nan, np.float32)
    whole[rows] = embeddings
    return whole


QUALITIES = np.array([str(quality) for quality in Quality])
_STAGES = [str(stage) for stage in Stage]

Spans = list[tuple[float, float, str]]
"""Start, length and name of stages or events."""


def draw_recording(
    processed: ProcessedRecording,
    embeddings: NDArray[np.float32],
    representation: str,
    folder: Path,
    scored: tuple[Path, FoundRecording, RawRecording],
) -> list[Path]:
    """Draw a recording from start to end, as PNG and SVG."""
    from deaps.report.nights import compose_night, night_page_drawing
    from deaps.report.svg import FORMATS, write_picture
    from storage.files import slug

    recording = scored[1]
    stages, events = _spans(*scored, processed.duration_s)
    page = compose_night(
        recording.name,
        quality=QUALITIES[processed.scores.quality].tolist(),
        heart_rate=processed.scores.hr_mean,
        rejected=processed.gate.rejected,
        stages=stages,
        events=events,
        representation=representation,
        embeddings=embeddings,
    )
    draw, size = night_page_drawing(page)
    name = slug(own_subject(recording.name))
    paths = [folder / f"{name}{ending}" for ending in FORMATS]
    for path in paths:
        write_picture(draw, size, path, title=recording.name)
    return paths


def _spans(
    root: Path, recording: FoundRecording, raw: RawRecording, duration_s: float
) -> tuple[Spans, Spans]:
    """Return stages and events of a recording: start, length and name."""
    scoring = DATASETS["folder"].scoring(
        root, recording, duration_s=duration_s, truncated=raw.truncated
    )
    if scoring is None:
        return [], []
    stages = [_STAGES[code] for code in scoring.stage]
    kinds = [scoring.kinds[code] for code in scoring.kind]
    return (
        list(
            zip(
                scoring.stage_start_s.tolist(),
                scoring.stage_duration_s.tolist(),
                stages,
                strict=True,
            )
        ),
        list(
            zip(
                scoring.event_start_s.tolist(),
                scoring.event_duration_s.tolist(),
                kinds,
                strict=True,
            )
        ),
    )
