from __future__ import annotations

import pytest

from flows.monitoring.status import sparkline


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([1.0, 0.5, 0.0], "█▅▁"),
        ([3.0, 3.0], "▁▁"),
        ([5.0], "▁"),
    ],
)
def test_lowest_to_highest(values: list[float], text: str) -> None:
    assert sparkline(values) == text
