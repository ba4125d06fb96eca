"""The choice of three strips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from deaps.report.arrays import NotShownError
from deaps.report.strips import CAPTIONS, ChosenStrips, choose_strips, strip

E, B, U = "Excellent", "Barely acceptable", "Unacceptable"


@dataclass
class Table:
    """Windows one by one: recording, subject, rhythm and quality; rows count up."""

    windows: list[tuple[int, str, bool, str]]

    def choose(self, order: list[int] | None = None) -> ChosenStrips:
        """Choose from the windows in some order; return places in the original order."""
        order = order or list(range(len(self.windows)))
        seen: dict[int, int] = {}
        rows = []
        for recording, *_ in self.windows:
            rows.append(seen.get(recording, 0))
            seen[recording] = rows[-1] + 1
        recording, subject, afib, quality = zip(*(self.windows[i] for i in order), strict=True)
        found = choose_strips(
            np.array(recording), np.array(rows)[order], subject, np.array(afib), quality
        )
        return ChosenStrips(*(order[i] for i in found))


def run(recording: int, subject: str, afib: bool, quality: str, n: int) -> list:
    return [(recording, subject, afib, quality)] * n


def test_middle_of_the_longest_good_stretch_is_chosen() -> None:
    windows = (
        run(1, "a", False, E, 2) + run(1, "a", False, B, 1) + run(1, "a", False, E, 5)
        + run(1, "a", True, E, 3)
        + run(2, "b", False, E, 1)
    )  # fmt: skip
    assert Table(windows).choose() == (5, 9, 11)


def test_a_stretch_ends_with_its_recording() -> None:
    windows = (
        run(1, "a", False, E, 2) + run(2, "a", False, E, 3)
        + run(2, "a", True, E, 1) + run(3, "b", False, E, 1)
    )  # fmt: skip
    assert Table(windows).choose().normal == 3


def test_first_subject_has_most_good_windows_in_its_rarer_rhythm() -> None:
    windows = (
        run(1, "a", False, E, 9) + run(1, "a", True, E, 1)
        + run(2, "b", False, E, 3) + run(2, "b", True, E, 3)
    )  # fmt: skip
    found = Table(windows).choose()
    assert {windows[found.normal][1], windows[found.afib][1]} == {"b"}
    assert windows[found.other][1] == "a"


def test_lower_quality_does_where_there_is_no_better() -> None:
    windows = run(1, "a", False, E, 2) + run(1, "a", True, B, 2) + run(2, "b", False, U, 1)
    found = Table(windows).choose()
    assert [windows[i][3] for i in found] == [E, B, U]


def test_order_of_the_windows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    windows = [
        (int(r), f"s{r % 4}", bool(rng.random() < 0.5), (E, B, U)[rng.integers(3)])
        for r in np.repeat(np.arange(8), 20)
    ]
    shuffled = rng.permutation(len(windows)).tolist()
    assert Table(windows).choose() == Table(windows).choose(shuffled)


def test_no_subject_with_both_rhythms_is_said() -> None:
    with pytest.raises(NotShownError, match="no subject has both"):
        Table(run(1, "a", False, E, 3) + run(2, "b", True, E, 3)).choose()


def test_no_second_subject_is_said() -> None:
    with pytest.raises(NotShownError, match="no second subject"):
        Table(run(1, "a", False, E, 3) + run(1, "a", True, E, 3)).choose()


def test_an_unknown_quality_is_named() -> None:
    with pytest.raises(ValueError, match="quality is 'Good'; allowed are Excellent"):
        Table(run(1, "a", False, "Good", 1)).choose()


def test_strip_has_three_decimals() -> None:
    found = strip(CAPTIONS[0], np.array([0.12345, -0.0001, 2.0], np.float32))
    assert found.signal == (0.123, 0.0, 2.0)
    assert (found.fs, found.caption) == (100, "subject A, normal")
