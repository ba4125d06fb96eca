"""Each view's rule, against a plain search through all windows of made subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deaps.config import SamplingSettings
from deaps.sampling.sampler import Draw, Sampler, Views
from storage.errors import DeapsError
from tests.deaps.sampling.made_batches import PER_SAMPLE
from tests.deaps.sampling.made_visits import Visit, pool_of

SPAN_S, DISTANCE_S = 30, 45


@dataclass(frozen=True)
class Window:
    """A usable window and whose it is."""

    subject: str
    visit: int
    recording_id: int
    row: int
    start_s: int


Sample = tuple[Window, ...]


def usable_windows(visits: Sequence[Visit]) -> dict[tuple[int, int], Window]:
    return {
        (k, row): Window(visit.subject, visit.visit, k, row, place * 10)
        for k, visit in enumerate(visits, start=1)
        for row, (place, good) in enumerate(zip(visit.places, visit.usable, strict=True))
        if good
    }


def is_triplet(a: Window, t: Window, b: Window) -> bool:
    one = a.recording_id == t.recording_id == b.recording_id
    return one and a.start_s < t.start_s < b.start_s == a.start_s + SPAN_S


def is_visit_quadruple(sample: Sample) -> bool:
    x1, *triplet = sample
    other = x1.subject == triplet[0].subject and x1.visit != triplet[0].visit
    return other and is_triplet(*triplet)


def is_distant_quadruple(sample: Sample) -> bool:
    x1, *triplet = sample
    return is_triplet(*triplet) and all(is_distant_pair((x1, other)) for other in triplet)


def is_visit_pair(sample: Sample) -> bool:
    a, b = sample
    return a.subject == b.subject and a.visit != b.visit


def is_distant_pair(sample: Sample) -> bool:
    a, b = sample
    return a.recording_id == b.recording_id and abs(a.start_s - b.start_s) >= DISTANCE_S


def is_adjacent(sample: Sample) -> bool:
    a, b = sample
    return a.recording_id == b.recording_id and b.start_s - a.start_s == 10


def is_anything(sample: Sample) -> bool:
    return True


RULES: list[tuple[Views, str, Callable[[Sample], bool]]] = [
    (Views.QUADRUPLE, "visits", is_visit_quadruple),
    (Views.QUADRUPLE, "recording", is_distant_quadruple),
    (Views.PAIR, "visits", is_visit_pair),
    (Views.PAIR, "recording", is_distant_pair),
    (Views.ADJACENT, "visits", is_adjacent),
    (Views.SINGLE, "visits", is_anything),
]


@st.composite
def visits_of_subjects(draw: st.DrawFn) -> list[Visit]:
    """Recordings in any order with gaps in time, unusable windows, and visits of several files."""
    count = draw(st.integers(1, 6))
    made = []
    for _ in range(count):
        steps = draw(st.lists(st.sampled_from([1, 1, 1, 1, 2, 5]), min_size=1, max_size=12))
        usable = draw(st.lists(st.integers(0, 3), min_size=len(steps), max_size=len(steps)))
        places = tuple(np.cumsum(steps).tolist())
        subject, visit = draw(st.sampled_from("abc")), draw(st.integers(1, 3))
        made.append(Visit(subject, visit, places, tuple(bool(u) for u in usable)))
    return made


def all_samples(
    windows: Sequence[Window], views: Views, allowed: Callable[[Sample], bool]
) -> set[Sample]:
    """Return every sample that the rule allows, by trying all."""
    if views is not Views.QUADRUPLE:
        return {s for s in product(windows, repeat=PER_SAMPLE[views]) if allowed(s)}
    triplets = [s for s in product(windows, repeat=3) if is_triplet(*s)]
    return {(x1, *t) for x1 in windows for t in triplets if allowed((x1, *t))}


def drawn_samples(draw: Draw, windows: dict[tuple[int, int], Window]) -> list[Sample]:
    """Return the windows of each sample; a KeyError is a window that is not usable."""
    pairs = zip(draw.recording_ids.tolist(), draw.rows.tolist(), strict=True)
    return [tuple(windows[key] for key in zip(ids, rows, strict=True)) for ids, rows in pairs]


@pytest.mark.parametrize(("views", "pairing", "allowed"), RULES)
@settings(max_examples=60, deadline=None)
@given(visits=visits_of_subjects(), seed=st.integers(-(2**63), 2**63))
def test_what_is_drawn_is_allowed_and_who_can_be_drawn_is(
    views: Views, pairing: str, allowed: Callable[[Sample], bool], visits: list[Visit], seed: int
) -> None:
    windows = usable_windows(visits)
    possible = all_samples(list(windows.values()), views, allowed)
    subjects = {sample[0].subject for sample in possible}
    chosen = SamplingSettings.model_validate(
        {
            "triplet_span_s": SPAN_S,
            "distance_s": DISTANCE_S,
            "pairing": pairing,
            "subjects": "all",
        }
    )
    if not windows:
        return
    if not subjects:
        with pytest.raises(DeapsError):
            Sampler(pool_of(visits), views, chosen, batch=4, seed=seed)
        return
    sampler = Sampler(pool_of(visits), views, chosen, batch=2 * len(subjects), seed=seed)
    for step in range(3):
        samples = drawn_samples(sampler.draw(step), windows)
        assert {sample[0].subject for sample in samples} == subjects
        assert set(samples) <= possible


VISITS = [
    Visit("a", 1, (0, 1, 2, 3, 4, 8, 9, 11, 14), (True,) * 3 + (False,) + (True,) * 5),
    Visit("a", 2, (5, 6, 7, 8, 13, 20), (True,) * 6),
    Visit("a", 2, (0, 3, 40), (True,) * 3),
    Visit("a", 7, (1,), (True,)),
]


@pytest.mark.parametrize(("views", "pairing", "allowed"), RULES)
def test_every_allowed_sample_is_drawn_sooner_or_later(
    views: Views, pairing: str, allowed: Callable[[Sample], bool]
) -> None:
    windows = usable_windows(VISITS)
    chosen = SamplingSettings.model_validate(
        {"triplet_span_s": SPAN_S, "distance_s": DISTANCE_S, "pairing": pairing}
    )
    sampler = Sampler(pool_of(VISITS), views, chosen, batch=5000, seed=0)
    drawn = set(drawn_samples(sampler.draw(0), windows))
    assert drawn == all_samples(list(windows.values()), views, allowed)


@settings(max_examples=30, deadline=None)
@given(visits=visits_of_subjects())
def test_i_and_j_are_the_times_between_the_windows_of_a_triplet(visits: list[Visit]) -> None:
    windows = usable_windows(visits)
    chosen = SamplingSettings(triplet_span_s=SPAN_S)
    if not all_samples(list(windows.values()), Views.QUADRUPLE, is_visit_quadruple):
        return
    draw = Sampler(pool_of(visits), Views.QUADRUPLE, chosen, batch=16, seed=0).draw(0)
    for (_, a, t, b), i, j in zip(
        drawn_samples(draw, windows), draw.before_s, draw.after_s, strict=True
    ):
        assert (i, j) == (t.start_s - a.start_s, b.start_s - t.start_s)
        assert i + j == SPAN_S


def test_without_triplets_the_times_are_zero() -> None:
    draw = Sampler(pool_of(VISITS), Views.PAIR, SamplingSettings(), batch=4, seed=0).draw(0)
    assert not draw.before_s.any()
    assert not draw.after_s.any()
