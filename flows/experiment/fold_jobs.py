"""Folds of all benchmarks and representations, each a job of its own for the workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deaps.probing.answer_files import answer_path, job_digest, read_answers, write_answers
from deaps.probing.answers import AnswerKey, AnswerRequest, AnswersByKey
from deaps.probing.fold_job import FoldJob, answer_from_files
from deaps.probing.plan import Plan
from deaps.probing.probes import Answers

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
    jobs = _FoldJobs(plans, client)
    answers: AnswersByKey = {}
    missing = []
    for request in requests:
        known = read_answers(jobs.answer_path(request))
        if known is None:
            missing.append(request)
        else:
            answers[request.key] = known
            advance(len(known))
    for request, computed in _compute(missing, plans, jobs, client, advance):
        write_answers(jobs.answer_path(request), computed)
        answers[request.key] = computed
    return {request.key: answers[request.key] for request in requests}


def _compute(
    requests: Sequence[AnswerRequest],
    plans: Mapping[str, Plan],
    jobs: _FoldJobs,
    client: Client,
    advance: Callable[[int], None],
) -> Iterator[tuple[AnswerRequest, list[Answers]]]:
    """Yield each request when the workers have answered all its folds."""
    from distributed import as_completed

    futures = {}
    for request in requests:
        key, files = request.key, request.files
        for fold in range(request.n_fits(plans)):
            job = jobs.of(key)
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
            yield request, [by_fold[fold] for fold in sorted(by_fold)]


class _FoldJobs:
    """What probes need of each plan, on the workers; sent once."""

    def __init__(self, plans: Mapping[str, Plan], client: Client) -> None:
        jobs = {
            (name, few): FoldJob.of(plan, few_labels=few)
            for name, plan in plans.items()
            for few in (False, True)
            if plan.label_draws or not few
        }
        self._digests = {key: job_digest(job) for key, job in jobs.items()}
        # Tasks, not scattered data: what a dead worker held is then made again.
        self._jobs = {key: client.submit(_itself, job, pure=False) for key, job in jobs.items()}

    def of(self, key: AnswerKey) -> FoldJob:
        """Return the job of a key: a future, which the workers see as its result."""
        job: FoldJob = self._jobs[key.benchmark, key.few_labels]
        return job

    def answer_path(self, request: AnswerRequest) -> Path:
        """Return where the answers to a request lie."""
        key = request.key
        return answer_path(request.files, self._digests[key.benchmark, key.few_labels], key.probe)


def _itself(job: FoldJob) -> FoldJob:
    return job
