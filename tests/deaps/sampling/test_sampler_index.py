"""What the sampler makes of an index: the usable windows, and errors where they do not suffice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import deaps.sampling.window_pool
from deaps.config import SamplingSettings
from deaps.sampling.sampler import Sampler, Views, open_sampler
from deaps.sampling.window_pool import WindowPool, load_pool
from storage import open_index
from storage.errors import DeapsError
from tests.deaps.sampling.made_visits import Visit, pool_of, publish_visits, two_visits, whole
from tests.deaps.sampling.test_sampler_rules import visits_of_subjects
from tests.storage.made_store import make_row, publish_rows, quarantined, write_recording

USABLE = """
SELECT recording_id, "row", start_s FROM windows JOIN recordings USING (recording_id)
WHERE status = 'ok' AND quality <> 'Unacceptable' ORDER BY ALL
"""


def listed(pool: WindowPool) -> list[tuple[int, int, float]]:
    ids = np.repeat(pool.recording_ids, pool.n_windows)
    return list(zip(ids.tolist(), pool.rows.tolist(), (pool.places * 10.0).tolist(), strict=True))


@settings(max_examples=15, deadline=None)
@given(visits=visits_of_subjects().filter(lambda made: any(any(v.usable) for v in made)))
def test_the_pool_holds_the_usable_windows_of_the_index(
    tmp_path_factory: pytest.TempPathFactory, visits: list[Visit]
) -> None:
    root = tmp_path_factory.mktemp("store")
    publish_visits(root, visits)
    pool = load_pool(root, SamplingSettings())
    with open_index(root) as index:
        assert listed(pool) == index.execute(USABLE).fetchall()
    expected = pool_of(visits)
    for name in ("offsets", "subjects", "visits", "by_subject", "subject_datasets"):
        assert np.array_equal(getattr(pool, name), getattr(expected, name)), name


def test_data_sets_and_qualities_are_those_asked_for(tmp_path: Path) -> None:
    publish_visits(tmp_path, [whole("a", 1, 4, "x"), whole("a", 1, 5, "y"), whole("b", 1, 6, "y")])
    pool = load_pool(tmp_path, SamplingSettings(datasets=("y",)))
    assert pool.recording_ids.tolist() == [2, 3]
    assert pool.datasets == ("y",)
    excellent = load_pool(tmp_path, SamplingSettings(qualities=("Excellent",)))
    assert excellent.recording_ids.tolist() == [1, 3]


def test_quarantined_recordings_are_not_drawn(tmp_path: Path) -> None:
    rows = [write_recording(tmp_path, make_row("good")), quarantined("bad", "no ECG channel")]
    publish_rows(tmp_path, rows)
    assert len(load_pool(tmp_path, SamplingSettings()).recording_ids) == 1


def test_an_index_file_is_as_good_as_the_store(tmp_path: Path) -> None:
    publish_visits(tmp_path, two_visits(2))
    views, chosen = Views.QUADRUPLE, SamplingSettings()
    one = open_sampler(tmp_path, views, chosen, batch=2, seed=1).draw(0)
    other = open_sampler(tmp_path / "index.duckdb", views, chosen, batch=2, seed=1).draw(0)
    assert np.array_equal(one.rows, other.rows)


def test_windows_in_another_order_are_sorted() -> None:
    pool = pool_of([Visit("a", 1, (7, 3, 5, 4), (True,) * 4)])
    assert pool.places.tolist() == [3, 4, 5, 7]
    assert pool.rows.tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize("before", [0, 1])
def test_two_windows_at_one_time_are_an_error(before: int) -> None:
    visits = [Visit("a", 1, (3, 4), (True, True))] * before
    with pytest.raises(DeapsError, match=f"two windows of recording {1 + before} start together"):
        pool_of([*visits, Visit("a", 2, (5, 5), (True, True))])


def test_a_window_off_the_grid_is_an_error(tmp_path: Path) -> None:
    start_s = np.array([0, 10, 23.5, 30])
    good = np.zeros(4, np.int8)
    publish_rows(
        tmp_path, [write_recording(tmp_path, make_row(), 4, start_s=start_s, quality=good)]
    )
    words = "recording 1 is no multiple of 10 s from the recording's start; run deaps preprocess"
    with pytest.raises(DeapsError, match=words):
        load_pool(tmp_path, SamplingSettings())


def test_a_window_off_the_grid_is_named_by_its_own_recording() -> None:
    visits = [Visit("a", 1, (3, 4), (True, True)), Visit("a", 2, (5, -1), (True, True))]
    with pytest.raises(DeapsError, match="recording 2 is no multiple of 10 s"):
        pool_of(visits)


def test_anchors_do_not_depend_on_how_many_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = pool_of(two_visits(5))
    whole_pool = deaps.sampling.window_pool.find_anchors(pool, 6, between=1, apart=3)
    monkeypatch.setattr(deaps.sampling.window_pool, "_CHUNK", 70)
    in_chunks = deaps.sampling.window_pool.find_anchors(pool, 6, between=1, apart=3)
    assert np.array_equal(whole_pool.positions, in_chunks.positions)
    assert np.array_equal(whole_pool.offsets, in_chunks.offsets)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ("shss",)}, "sampling.datasets has 'shss'; the index has 'x', 'y'"),
        ({"qualities": ("good",)}, "sampling.qualities has 'good'; allowed are 'Excellent', "),
        ({"qualities": ("Unacceptable",)}, "none of 3 recordings of all data sets has a window"),
    ],
)
def test_settings_that_the_index_does_not_know_are_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    publish_visits(tmp_path, [whole("a", 1, 4, "x"), whole("a", 1, 5, "y"), whole("b", 1, 6, "y")])
    with pytest.raises(DeapsError, match=message):
        load_pool(tmp_path, SamplingSettings.model_validate(changes))


ONE_VISIT = [whole("a", 1, 30), whole("b", 1, 30)]
LATE = [whole("a", 1, 30), Visit("a", 2, tuple(range(100, 130)), (True,) * 30)]
SPARSE = [Visit("a", v, tuple(range(0, 60, 2)), (True,) * 30) for v in (1, 2)]


@pytest.mark.parametrize(
    ("visits", "views", "changes", "message"),
    [
        (
            ONE_VISIT, Views.PAIR, {},
            r"0 of 2 subjects have usable windows in two visits \(data sets: ds\); "
            "set sampling.pairing=recording to pair distant windows of one recording",
        ),
        (
            ONE_VISIT, Views.QUADRUPLE, {},
            "0 of 2 subjects have usable windows in two visits .*sampling.pairing=recording",
        ),
        (
            two_visits(2), Views.QUADRUPLE, {"triplet_span_s": 300},
            "triplet_span_s is 300, longer than any recording: .* at most 290 s apart",
        ),
        (
            LATE, Views.QUADRUPLE, {"triplet_span_s": 300},
            "triplet_span_s is 300, longer than any recording: .* at most 290 s apart",
        ),
        (
            SPARSE, Views.QUADRUPLE, {"triplet_span_s": 130},
            "0 of 1 subjects have a triplet over 130 s and .*lower sampling.triplet_span_s",
        ),
        (
            ONE_VISIT, Views.PAIR, {"pairing": "recording"},
            "0 of 2 subjects have usable windows 600 s apart in one .*lower sampling.distance_s",
        ),
        (
            ONE_VISIT, Views.QUADRUPLE, {"pairing": "recording"},
            r"0 of 2 subjects have a triplet over 120 s and a usable window 600 s away from it in "
            r"the same recording \(data sets: ds\); lower sampling.distance_s, or lower "
            "sampling.triplet_span_s",
        ),
        (SPARSE, Views.ADJACENT, {}, "0 of 1 subjects have two adjacent usable windows"),
    ],
)  # fmt: skip
def test_too_little_data_is_explained(
    visits: list[Visit], views: Views, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeapsError, match=message):
        Sampler(pool_of(visits), views, SamplingSettings(**changes), batch=2, seed=0)


def test_subjects_that_are_never_drawn_are_noted_by_data_set() -> None:
    visits = [*two_visits(3), whole("x", 1, 30), whole("y", 1, 30, "other")]
    unusable = Visit("z", 1, (0, 1), (False, False), "other")
    sampler = Sampler(pool_of([*visits, unusable]), Views.PAIR, SamplingSettings(), batch=2, seed=0)
    tail = "subjects have usable windows in two visits; the others are never drawn"
    assert sampler.notes == [f"ds: 3 of 4 {tail}", f"other: 0 of 2 {tail}"]


def test_people_whom_paired_leaves_out_are_noted_with_that_reason() -> None:
    """They have what the method needs, but not what DEAPS needs."""
    visits = [*two_visits(3), whole("x", 1, 30), whole("y", 1, 30, "other")]
    pool = pool_of([*visits, Visit("z", 1, (0, 1), (False, False))])
    sampler = Sampler(pool, Views.SINGLE, SamplingSettings(), batch=2, seed=0)
    tail = (
        "subjects with a usable window have a triplet over 120 s and a usable window of another "
        "visit, as sampling.subjects=paired asks; the others are never drawn"
    )
    assert sampler.notes == [
        "ds: 4 of 5 subjects have a usable window; the others are never drawn",
        f"ds: 3 of 4 {tail}",
        f"other: 0 of 1 {tail}",
    ]
    everybody = SamplingSettings(subjects="all")
    assert Sampler(pool, Views.SINGLE, everybody, batch=2, seed=0).notes == sampler.notes[:1]


def test_it_is_noted_if_paired_leaves_nobody_out_because_nobody_gives_a_triplet() -> None:
    pool = pool_of([whole("x", 1, 1), whole("y", 1, 1)])
    sampler = Sampler(pool, Views.SINGLE, SamplingSettings(), batch=2, seed=0)
    assert sampler.subjects.tolist() == [0, 1]
    assert sampler.notes == [
        "no subject has usable windows in two visits, so sampling.subjects=paired leaves nobody "
        "out: all who have a usable window are drawn"
    ]
    everybody = SamplingSettings(subjects="all")
    assert Sampler(pool, Views.SINGLE, everybody, batch=2, seed=0).notes == []


def test_nobody_left_by_paired_is_explained() -> None:
    """One subject has adjacent windows, another one triplets."""
    spread = [Visit("x", v, (0, 6, 12), (True,) * 3) for v in (1, 2)]
    pool = pool_of([*spread, whole("y", 1, 5)])
    message = "0 of 2 subjects have two adjacent .*=paired asks .*set sampling.subjects=all"
    with pytest.raises(DeapsError, match=message):
        Sampler(pool, Views.ADJACENT, SamplingSettings(), batch=2, seed=0)


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="batch is 0"):
        Sampler(pool_of(ONE_VISIT), Views.SINGLE, SamplingSettings(), batch=0, seed=0)
