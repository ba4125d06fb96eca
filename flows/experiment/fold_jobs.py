"""Folds of all benchmarks and representations, each a job of its own for the workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

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
    """Return every requested answer, computed from its files of features."""
    from distributed import as_completed

    jobs = _FoldJobs(plans, client)
    futures = {}
    for request in requests:
        key, files = request.key, request.files
        for fold in range(request.n_fits(plans)):
            job = jobs.of(key)
            future = client.submit(answer_from_files, job, files, fold, key.probe, pure=False)
            futures[future] = (key, fold)
    answers: dict[AnswerKey, dict[int, Answers]] = defaultdict(dict)
    for future in as_completed(futures):
        key, fold = futures[future]
        answers[key][fold] = future.result()
        future.release()
        advance(1)
    return {request.key: _in_order(answers[request.key]) for request in requests}


class _FoldJobs:
    """What probes need of each plan, on the workers; sent once."""

    def __init__(self, plans: Mapping[str, Plan], client: Client) -> None:
        # Tasks, not scattered data: what a dead worker held is then made again.
        self._jobs = {
            (name, few): client.submit(_itself, FoldJob.of(plan, few_labels=few), pure=False)
            for name, plan in plans.items()
            for few in (False, True)
            if plan.label_draws or not few
        }

    def of(self, key: AnswerKey) -> FoldJob:
        """Return the job of a key: a future, which the workers see as its result."""
        job: FoldJob = self._jobs[key.benchmark, key.few_labels]
        return job


def _itself(job: FoldJob) -> FoldJob:
    return job


def _in_order(by_fold: Mapping[int, Answers]) -> list[Answers]:
    return [by_fold[fold] for fold in sorted(by_fold)]
