"""Answers on disk, beside the features that they come from, so that no fold is fitted twice.

A file is named after all that its answers depend on: the features, the labels, the folds and the
probe. An evaluation that is stopped goes on where it was, and one more run costs its own folds.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deaps.probing.answers import AnswerKey, AnswerRequest
from deaps.probing.fold_job import FoldJob
from deaps.probing.plan import Plan
from deaps.probing.probes import Answers
from deaps.probing.representations import FeatureFile, first_seeds, missing_features, run_of
from storage.errors import DeapsError
from storage.files import digest_of, replacing


class NoWeightsError(DeapsError):
    """An answer is missing, and so are the weights that could give it."""


_VERSION = 4
"""Raised when the same features would give other answers than before."""

ANSWERS_FOLDER = "answers"
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
    return features[0].parent / ANSWERS_FOLDER / f"{name}.answers"


def answer_paths(
    requests: Iterable[AnswerRequest], jobs: Mapping[tuple[str, bool], FoldJob]
) -> dict[AnswerKey, Path]:
    """Return where the answers to each request lie, given what probes get of each benchmark."""
    digests = {name: job_digest(job) for name, job in jobs.items()}
    return {
        (key := request.key): answer_path(
            request.files, digests[key.benchmark, key.few_labels], key.probe
        )
        for request in requests
    }


def fold_jobs(plans: Mapping[str, Plan]) -> dict[tuple[str, bool], FoldJob]:
    """Return what probes get of each benchmark: its folds and, if it has any, its few labels."""
    return {
        (name, few): FoldJob.of(plan, few_labels=few)
        for name, plan in plans.items()
        for few in (False, True)
        if plan.label_draws or not few
    }


def files_to_embed(
    files: Sequence[FeatureFile], requests: Sequence[AnswerRequest], plans: Mapping[str, Plan]
) -> list[FeatureFile]:
    """Return the files of features to make: those that a missing answer or an exhibit needs.

    Raises
    ------
    NoWeightsError
        If one of them needs weights that are not here.
    """
    paths = answer_paths(requests, fold_jobs(plans))
    unanswered = [request for request in requests if not has_answers(paths[request.key])]
    asked = {path for request in unanswered for path in request.files}
    shown = {file.path for file in first_seeds(files) if not file.source.is_absent}
    missing = missing_features([file for file in files if file.path in asked | shown])
    for file in missing:
        if file.source.is_absent:
            benchmarks = {r.key.benchmark for r in unanswered if file.path in r.files}
            raise NoWeightsError(
                f"run {run_of(file)} ({file.representation}, seed {file.seed}) was brought without "
                f"its weights, and without answers to {', '.join(sorted(benchmarks))}; evaluate "
                "with the settings of the machine that packed it, or remove its folder to train it"
            )
    return missing


def write_answers(path: Path, answers: Sequence[Answers]) -> None:
    """Write the answers to all folds, behind the SHA-256 of what follows it.

    Scores are kept in half precision: they only rank examples, and three digits do that. Of two
    classes whose scores are opposite, the second column alone is written.
    """
    scores = np.concatenate([each.scores for each in answers])
    if scores.shape[1] == 2 and np.array_equal(scores[:, 0], -scores[:, 1]):
        scores = scores[:, 1:]
    arrays = io.BytesIO()
    np.savez_compressed(
        arrays,
        sizes=[len(each.labels) for each in answers],
        labels=np.concatenate([each.labels for each in answers]),
        scores=scores.astype(np.float16),
    )
    with replacing(path) as temporary:
        temporary.write_bytes(hashlib.sha256(arrays.getvalue()).digest() + arrays.getvalue())


def read_answers(path: Path) -> list[Answers] | None:
    """Return the answers to all folds; None without a file, or where it is damaged.

    A damaged file is not worth an error: its folds are fitted again.
    """
    content = _content(path)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        ends = np.cumsum(arrays["sizes"])[:-1]
        scores = arrays["scores"].astype(np.float64)
        if scores.shape[1] == 1:
            scores = np.concatenate([-scores, scores], axis=1)
        split = np.split(arrays["labels"], ends), np.split(scores, ends)
        return [Answers(*each) for each in zip(*split, strict=True)]


def has_answers(path: Path) -> bool:
    """Return whether whole answers lie there."""
    return _content(path) is not None


def _content(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None
