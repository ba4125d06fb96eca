"""One rhythm label per window, from changes in time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from preprocessing.chain import label_windows
from preprocessing.recording import RhythmChange

CHANGES = st.lists(
    st.tuples(
        st.integers(0, 60).map(lambda tenth: tenth * 2.5), st.sampled_from(["N", "AFIB", None])
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda change: change[0],
).map(
    lambda changes: tuple(RhythmChange(*change) for change in sorted(changes, key=lambda c: c[0]))
)


def test_rhythm_holds_until_the_next_change() -> None:
    labels, shares = label_windows((RhythmChange(0, "N"), RhythmChange(20, "AFIB")), 4)
    assert labels == ["N", "N", "AFIB", "AFIB"]
    np.testing.assert_array_equal(shares, 1)


def test_window_across_a_change_gets_the_longer_rhythm_and_its_share() -> None:
    labels, shares = label_windows((RhythmChange(0, "N"), RhythmChange(13, "AFIB")), 2)
    assert labels == ["N", "AFIB"]
    np.testing.assert_allclose(shares, [1, 0.7])


def test_before_the_first_change_the_rhythm_is_unknown() -> None:
    labels, shares = label_windows((RhythmChange(12, "N"),), 3)
    assert labels == [None, "N", "N"]
    np.testing.assert_allclose(shares[1:], [0.8, 1])
    assert np.isnan(shares[0])


def test_change_after_the_end_is_ignored() -> None:
    assert label_windows((RhythmChange(0, "N"), RhythmChange(500, "AFIB")), 2)[0] == ["N", "N"]


def test_no_annotation_gives_no_label() -> None:
    labels, shares = label_windows((), 2)
    assert labels == [None, None]
    assert np.isnan(shares).all()


@given(CHANGES, st.integers(1, 12))
def test_labels_agree_with_counting_tenths_of_seconds(
    changes: tuple[RhythmChange, ...], n_windows: int
) -> None:
    times = np.arange(n_windows * 100) / 10 + 0.05
    rhythm_at = [
        next((c.rhythm for c in reversed(changes) if c.start_s <= time), None) for time in times
    ]
    labels, shares = label_windows(changes, n_windows)
    for k, (label, share) in enumerate(zip(labels, shares, strict=True)):
        counts = [rhythm_at[k * 100 : (k + 1) * 100].count(r) for r in ("N", "AFIB", None)]
        if label is None:
            assert counts[2] == max(counts)
        else:
            assert round(share * 100) == max(counts)
