"""Answers on disk, beside the features that they come from, so that no fold is fitted twice.

A file is named after all that its answers depend on: the features, the labels, the folds and the
probe. An evaluation that is stopped goes on where it was, and one more run costs its own folds.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deaps.probing.fold_job import FoldJob
from deaps.probing.probes import Answers
from storage.atomic import replacing
from storage.digest import digest_of

_VERSION = 1
"""Raised when the same features would give other answers than before."""

_FOLDER = "answers"
_NAME_LENGTH = 20
_DIGEST_BYTES = 32


def job_digest(job: FoldJob) -> str:
    """Return a digest of all that a probe is given beside the features."""
    content = hashlib.sha256()
    arrays: list[NDArray[np.integer]] = [job.labels, job.windows.key, job.owner]
    arrays += [side for fold in job.folds for side in (fold.train, fold.test)]
    for array in arrays:
        content.update(len(array).to_bytes(8, "little"))
        content.update(np.ascontiguousarray(array).tobytes())
    return digest_of(content.hexdigest(), job.n_classes)


def answer_path(features: Sequence[Path], job: str, probe: str) -> Path:
    """Return where a probe's answers lie, given files of features and the digest of a job.

    The name of a file of features says what they are; of several, the first has the answers.
    """
    name = digest_of(_VERSION, [path.name for path in features], job, probe)[:_NAME_LENGTH]
    return features[0].parent / _FOLDER / f"{name}.answers"


def write_answers(path: Path, answers: Sequence[Answers]) -> None:
    """Write the answers to all folds, behind the SHA-256 of what follows it."""
    arrays = io.BytesIO()
    np.savez_compressed(
        arrays,
        sizes=[len(each.labels) for each in answers],
        labels=np.concatenate([each.labels for each in answers]),
        scores=np.concatenate([each.scores for each in answers]),
    )
    with replacing(path) as temporary:
        temporary.write_bytes(hashlib.sha256(arrays.getvalue()).digest() + arrays.getvalue())


def read_answers(path: Path) -> list[Answers] | None:
    """Return the answers to all folds; None without a file, or where it is damaged.

    A damaged file is not worth an error: its folds are fitted again.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        ends = np.cumsum(arrays["sizes"])[:-1]
        labels, scores = (np.split(arrays[name], ends) for name in ("labels", "scores"))
        return [Answers(*each) for each in zip(labels, scores, strict=True)]
