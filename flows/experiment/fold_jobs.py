"""Folds of all benchmarks and representations, each a job of its own for the workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from deaps.evaluation.answers import (
    AnswerKey,
    AnswerRequest,
    AnswersByKey,
    FoldJob,
    answer_from_files,
    answer_paths,
    fold_jobs,
    read_answers,
    write_answers,
)
from deaps.evaluation.plan import Plan
from deaps.evaluation.probes import Answers

if TYPE_CHECKING:
    from distributed import Client


def run_folds(
    requests: Sequence[AnswerRequest],
    plans: Mapping[str, Plan],
    client: Client,
    advance: Callable[[int], None] = lambda n: None,
) -> AnswersByKey:
    """Return every requested answer, from its file or computed from its features.

    Answers are written as soon as all folds of a request are done.
    """
    jobs = fold_jobs(plans)
    paths = answer_paths(requests, jobs)
    answers: AnswersByKey = {}
    missing = []
    for request in requests:
        known = read_answers(paths[request.key])
        if known is None:
            missing.append(request)
        else:
            answers[request.key] = known
            advance(len(known))
    for key, computed in _compute(missing, plans, jobs, client, advance):
        write_answers(paths[key], computed)
        # As the file has them, so that a figure is the same whether its answers are new or not.
        answers[key] = read_answers(paths[key]) or computed
    return {request.key: answers[request.key] for request in requests}


def _compute(
    requests: Sequence[AnswerRequest],
    plans: Mapping[str, Plan],
    jobs: Mapping[tuple[str, bool], FoldJob],
    client: Client,
    advance: Callable[[int], None],
) -> Iterator[tuple[AnswerKey, list[Answers]]]:
    """Yield the answers to each request when the workers have answered all its folds."""
    from distributed import as_completed

    # Tasks, not scattered data: sent once, and what a dead worker held is then made again.
    sent = {name: client.submit(_itself, job, pure=False) for name, job in jobs.items()}
    futures = {}
    for request in requests:
        key, files = request.key, request.files
        for fold in range(request.n_fits(plans)):
            job = sent[key.benchmark, key.few_labels]
            future = client.submit(answer_from_files, job, files, fold, key.probe, pure=False)
            futures[future] = (request, fold)
    by_request: dict[AnswerKey, dict[int, Answers]] = defaultdict(dict)
    for future in as_completed(futures):
        request, fold = futures[future]
        by_fold = by_request[request.key]
        by_fold[fold] = future.result()
        future.release()
        advance(1)
        if len(by_fold) == request.n_fits(plans):
            yield request.key, [by_fold[fold] for fold in sorted(by_fold)]


def _itself(job: FoldJob) -> FoldJob:
    return job
