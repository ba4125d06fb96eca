"""Answers on disk: what was written is read, and what is damaged or of another job is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deaps.evaluation.answers import FoldJob, answer_path, job_digest, read_answers, write_answers
from deaps.evaluation.examples import Fold, Windows
from deaps.evaluation.probes import Answers


def _job() -> FoldJob:
    places = np.arange(6)
    windows = Windows(np.ones(6, np.int32), places.astype(np.int32), np.ones(6, np.uint64))
    folds = (Fold("a", places[:3], places[3:]), Fold("b", places[3:], places[:3]))
    return FoldJob(np.array([0, 1, 0, 1, 0, 1], np.int8), 2, windows, places, folds)


def _answers() -> list[Answers]:
    rng = np.random.default_rng(0)
    sizes = (3, 0, 2)
    return [_drawn(rng, n) for n in sizes]


def _drawn(rng: np.random.Generator, n: int) -> Answers:
    scores = rng.normal(size=(n, 2)).astype(np.float16)
    return Answers(rng.integers(0, 2, n).astype(np.int8), scores.astype(np.float64))


def test_answers_come_back_fold_by_fold_with_minus_infinity(tmp_path: Path) -> None:
    answers = _answers()
    answers[0].scores[0, 1] = -np.inf
    path = tmp_path / "answers" / "one.answers"
    write_answers(path, answers)
    again = read_answers(path)
    assert again is not None
    assert len(again) == len(answers)
    for given, read in zip(answers, again, strict=True):
        np.testing.assert_array_equal(given.labels, read.labels)
        np.testing.assert_array_equal(given.scores, read.scores)


def test_opposite_scores_of_two_classes_come_back_from_one_column(tmp_path: Path) -> None:
    of_second = np.array([0.5, -2.25, 8.0])
    scores = np.stack([-of_second, of_second], axis=1)
    write_answers(tmp_path / "a.answers", [Answers(np.array([1, 0, 1], np.int8), scores)])
    (again,) = read_answers(tmp_path / "a.answers") or []
    np.testing.assert_array_equal(again.scores, scores)


def test_scores_keep_three_digits_and_every_label(tmp_path: Path) -> None:
    exact = np.random.default_rng(1).normal(size=(50, 3))
    labels = exact.argmax(axis=1).astype(np.int8)
    write_answers(tmp_path / "a.answers", [Answers(labels, exact)])
    (again,) = read_answers(tmp_path / "a.answers") or []
    np.testing.assert_array_equal(again.labels, labels)
    np.testing.assert_allclose(again.scores, exact, rtol=1e-3)
    assert not np.array_equal(again.scores, exact)


def test_without_a_file_there_are_no_answers(tmp_path: Path) -> None:
    assert read_answers(tmp_path / "none.answers") is None


@pytest.mark.parametrize("bit", [0, 250, 256, 3000, -1])
def test_a_file_with_a_flipped_bit_has_no_answers(tmp_path: Path, bit: int) -> None:
    path = tmp_path / "answers" / "one.answers"
    write_answers(path, _answers())
    damaged = bytearray(path.read_bytes())
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)
    assert read_answers(path) is None


@pytest.mark.parametrize("end", [0, 1, 100, -1])
def test_a_truncated_file_has_no_answers(tmp_path: Path, end: int) -> None:
    path = tmp_path / "answers" / "one.answers"
    write_answers(path, _answers())
    path.write_bytes(path.read_bytes()[:end])
    assert read_answers(path) is None


def test_the_digest_of_a_job_changes_with_labels_windows_owners_and_folds() -> None:
    job = _job()
    swapped = (Fold("a", job.folds[0].test, job.folds[0].train), job.folds[1])
    others = [
        replace(job, labels=1 - job.labels),
        replace(job, n_classes=3),
        replace(job, windows=replace(job.windows, content=job.windows.content + np.uint64(1))),
        replace(job, owner=job.owner // 2),
        replace(job, folds=swapped),
        replace(job, folds=job.folds[:1]),
    ]
    assert len({job_digest(each) for each in (job, *others)}) == 1 + len(others)


def test_a_path_is_of_its_features_job_and_probe() -> None:
    one, other = Path("run/features/a.parquet"), Path("run/features/b.parquet")
    paths = {
        answer_path([one], "job", "svc"),
        answer_path([other], "job", "svc"),
        answer_path([one, other], "job", "svc"),
        answer_path([one], "another", "svc"),
        answer_path([one], "job", "logistic"),
    }
    assert len(paths) == 5
    assert {path.parent for path in paths} == {Path("run/features/answers")}
