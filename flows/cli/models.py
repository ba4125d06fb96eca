"""Commands that train and use encoders: each is a thin shell over one library call."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import (
    Config,
    Encoder,
    Overrides,
    Preset,
    run_as_flow,
    run_context,
    settings_from,
)
from flows.runtime.console import echo
from storage.errors import DeapsError


def train(
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Method to train; may be repeated (default: deaps)."),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Train methods on the published snapshot.

    Ctrl-C stops a training with a checkpoint. The same command continues
    from there.

    Example: deaps train --method deaps --set training.iterations=1000
    """
    from deaps.methods import find_method
    from storage.snapshot import open_index

    settings = settings_from(preset, config, overrides)
    for name in method or ():
        find_method(name)
    open_index(settings.store.root).close()  # torch takes seconds to start
    from flows.train import train_methods

    context = run_context(preset, config, overrides, settings)
    body = partial(train_methods, methods=method or ())
    names = run_as_flow("deaps-train", body, context, methods=method)
    _print_runs([settings.store.root / "runs" / name for name in names])


def _print_runs(folders: list[Path]) -> None:
    """Print where the runs are, and that their data are synthetic if they are."""
    from deaps.training.run_folder import read_end

    for folder in folders:
        echo(f"run: {folder}")
    if any(read_end(folder).get("synthetic") for folder in folders):
        echo("synthetic data, no person was recorded")


def embed(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file, a record, a folder, or a data set.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write (default: SOURCE.embeddings.parquet)."),
    ] = None,
    encoder: Encoder = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw each file, too.")] = False,
    keep_rejected: Annotated[
        bool, typer.Option("--all", help="Keep flat, clipped and non-finite windows.")
    ] = False,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Write the representation of every window to Parquet.

    SOURCE is an EDF, BDF, GDF, BrainVision, FIF or WFDB file (a record's
    header, signal file or name), a folder of them, or a data set in the store.

    Example: deaps embed night.edf --plot
    """
    settings = settings_from(preset, config, overrides)
    from deaps.training.device import keep_freed_memory
    from flows.embed import default_out, embed_source

    keep_freed_memory()
    done = embed_source(
        settings,
        source,
        encoder,
        out or default_out(source),
        keep_rejected=keep_rejected,
        plot=plot,
        notify=lambda text: echo(text, err=True),
    )
    for text in done.skipped:
        echo(f"skipped {text}", err=True)
    echo(f"{done.out}: {done.counts}")
    for path in done.pictures:
        echo(str(path))


def export(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="File ending in .onnx, or folder for a model hub.")
    ],
    encoder: Encoder = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write an encoder as ONNX, or as a folder for a model hub.

    It checks ONNX against torch. Encoders of your own trainings are in
    store/runs/RUN/encoders/.

    Example: deaps export encoder.onnx
    """
    from deaps.models.encoder_file import WEIGHTS_NAME
    from deaps.models.export import CONFIG_NAME, write_hub_folder

    is_onnx = out.suffix == ".onnx"
    for path in (out,) if is_onnx else (out / CONFIG_NAME, out / WEIGHTS_NAME):
        if path.exists() and not force:
            raise DeapsError(f"{path} already exists; replace it with --force")
    if not is_onnx:
        echo(f"{write_hub_folder(encoder, out)}: config.json, model.safetensors, README.md")
        return
    from deaps.models.export import export_onnx

    difference = export_onnx(encoder, out)
    echo(f"{out}: differs from torch by at most {difference:.1e} of the largest number")


_NO_ANSWERS = "no answers yet; run deaps evaluate first"


def pack(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder to write to, a file for each run.")
    ],
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Write finished runs to small files, without weights.

    A file has the settings of a run and the answers of its probes. With
    "deaps unpack", another machine can evaluate these runs together with its own.

    Example: deaps pack answers --preset open
    """
    settings = settings_from(preset, config, overrides)
    from deaps.packed_run import count_answers, pack_run
    from flows.experiment.state import load_state

    for finished in load_state(settings).finished:
        path = pack_run(finished.run, folder)
        kept = count_answers(finished.run)
        size = f"{path.stat().st_size / 1e6:.1f} MB" if kept else _NO_ANSWERS
        echo(f"{path}: {finished.trained.label}, {size}")


def unpack(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that deaps pack wrote.")],
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Add the runs that deaps pack wrote to the store.

    Both stores must have the same snapshot: the same recordings, preprocessed
    in the same way. A run that is there already stays as it is.

    Example: deaps unpack answers --preset open
    """
    settings = settings_from(preset, config, overrides)
    from deaps.packed_run import PACKED_SUFFIX, unpack_run
    from storage.publish import republish

    paths = sorted(folder.glob(f"*{PACKED_SUFFIX}"))
    if not paths:
        raise DeapsError(f"no file *{PACKED_SUFFIX} in {folder}; deaps pack writes them")
    store = settings.store.root
    added = [run for path in paths if (run := unpack_run(path, store)) is not None]
    if added:
        republish(store)
    echo(f"{len(added)} runs added, {len(paths) - len(added)} were there already: {store}")
