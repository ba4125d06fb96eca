"""Finished runs without their weights: what a run was, and what probes answered with it.

A packed run is one small file. Runs from several machines so become one evaluation, and the
answers behind a published figure can be kept next to it: one to three megabytes, where the weights
of one method take 130. The people that a run was trained on are in it by their hashes alone.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from deaps.evaluation.answers import ANSWERS_FOLDER, has_answers
from deaps.evaluation.representations import FEATURES_FOLDER
from deaps.training.metrics import LINES_NAME
from deaps.training.run_folder import (
    CONFIG_NAME,
    Run,
    encoder_digests,
    link_index,
    note_encoder,
    open_run,
    run_path,
)
from deaps.training.trained_on import TRAINED_ON_NAME, read_trained_on
from storage.errors import DeapsError
from storage.files import RUN_NAME, RUNS_FOLDER, replacing
from storage.snapshot import open_index, read_snapshot

PACKED_SUFFIX = ".run.tar"
_ENCODERS_NAME = "encoders.json"
_ANSWERS = PurePosixPath(FEATURES_FOLDER, ANSWERS_FOLDER)
_FILES = (CONFIG_NAME, RUN_NAME, TRAINED_ON_NAME, LINES_NAME, _ENCODERS_NAME)
_LARGEST_BYTES = 64 * 2**20
"""Of one file in a packed run: the answers to one benchmark have some hundred kilobytes."""


def pack_run(run: Run, folder: Path) -> Path:
    """Write a finished run, without weights, to a file in ``folder`` and return its path.

    Packing the same run again gives the same bytes.
    """
    if not run.finished:
        raise DeapsError(f"run {run.name} is not finished; run deaps train")
    path = folder / f"{run.name}{PACKED_SUFFIX}"
    with replacing(path) as temporary, tarfile.open(temporary, "w") as archive:
        for name, content in _contents(run):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def count_answers(run: Run) -> int:
    """Return to how many benchmarks, probes and steps a run has answers."""
    return len(_answer_files(run))


def _answer_files(run: Run) -> list[Path]:
    paths = sorted((run.folder / _ANSWERS).glob("*.answers"))
    return [path for path in paths if has_answers(path)]


def _contents(run: Run) -> Iterator[tuple[str, bytes]]:
    for name in (CONFIG_NAME, RUN_NAME, LINES_NAME):
        yield name, (run.folder / name).read_bytes()
    yield TRAINED_ON_NAME, read_trained_on(run).as_hashes().to_json()
    digests = {str(step): sha256 for step, sha256 in sorted(encoder_digests(run.folder).items())}
    yield _ENCODERS_NAME, f"{json.dumps(digests, indent=1)}\n".encode()
    for path in _answer_files(run):
        yield str(_ANSWERS / path.name), path.read_bytes()


def unpack_run(path: Path, store: Path) -> Run | None:
    """Add a packed run to a store and return it; None if a run of that name is there already.

    Raises
    ------
    DeapsError
        If the file is damaged, or if its run belongs to another snapshot than the store's.
    """
    runs = store.resolve() / RUNS_FOLDER
    temporary = runs / f".{path.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        for name, content in _members(path):
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_bytes(content)
        folder = _checked_folder(path, temporary, store)
        if folder.exists():
            return None
        for step, sha256 in json.loads((temporary / _ENCODERS_NAME).read_bytes()).items():
            note_encoder(temporary, int(step), str(sha256))
        link_index(store, temporary)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return open_run(folder)


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents; only names that `pack_run` writes, so that none leads elsewhere."""
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                place = PurePosixPath(member.name)
                is_known = member.name in _FILES or (
                    place.parent == _ANSWERS and place.suffix == ".answers"
                )
                file = archive.extractfile(member) if member.isreg() else None
                if not is_known or file is None or member.size > _LARGEST_BYTES:
                    raise DeapsError(f"{path} has {member.name!r}, which no packed run has")
                yield member.name, file.read()
    except (tarfile.TarError, EOFError):
        raise DeapsError(f"{path} is damaged, or no packed run; pack it again") from None


def _checked_folder(path: Path, unpacked: Path, store: Path) -> Path:
    """Return where the run belongs in the store, if it belongs there."""
    if missing := [name for name in _FILES if not (unpacked / name).is_file()]:
        raise DeapsError(f"{path} is damaged: it lacks {', '.join(missing)}; pack it again")
    if damaged := [p.name for p in (unpacked / _ANSWERS).glob("*") if not has_answers(p)]:
        raise DeapsError(f"{path} is damaged: {damaged[0]} is not whole; pack it again")
    run = open_run(unpacked)
    with open_index(store) as index:
        snapshot_id = read_snapshot(index).snapshot_id
    if run.snapshot_id != snapshot_id:
        raise DeapsError(
            f"{path} was trained on snapshot {run.snapshot_id[:12]}, and {store} has "
            f"{snapshot_id[:12]}: its data sets or their preprocessing differ"
        )
    return run_path(store, run.plan, snapshot_id)
