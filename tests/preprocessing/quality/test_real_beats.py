"""R peaks against people's annotations of real recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.bench.beats import compared, rmssd_error


@pytest.mark.slow
def test_beats_of_mit_arr_are_found_and_rmssd_is_theirs(real_data: Callable[[str], Path]) -> None:
    real_data("mitdb")
    recordings = compared("mitdb")
    matched, annotated, found = np.sum([each.counts for each in recordings], axis=0)
    assert matched / annotated > 0.99
    assert matched / found > 0.99
    assert rmssd_error(recordings) < 3
