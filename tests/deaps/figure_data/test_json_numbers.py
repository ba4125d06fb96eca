"""Arrays as JSON numbers."""

from __future__ import annotations

import numpy as np
import pytest

from deaps.report.arrays import plain_floats


def test_values_keep_six_significant_digits() -> None:
    assert plain_floats(np.float32([1 / 3, 1234567, 1e-9 / 3])) == (
        0.333333,
        1234570.0,
        3.33333e-10,
    )


def test_numbers_are_of_plain_python() -> None:
    assert {type(value) for value in plain_floats(np.arange(3))} == {float}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_json_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="1 of 2 values are not finite"):
        plain_floats([1.0, value])
