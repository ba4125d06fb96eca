"""Pictures in a terminal show what is in the numbers."""

from __future__ import annotations

import numpy as np

from deaps.evaluation.document import NightPage, NightStage, Strip
from deaps.terminal_pictures import night_lines, strip_lines


def night(**changes: object) -> NightPage:
    values = {
        "title": "n",
        "window_s": 10,
        "quality": ("Excellent",) * 180 + ("Unacceptable",) * 180,
        "heart_rate": tuple(50 + 50 * place / 360 for place in range(360)),
        "stages": (
            NightStage(start_s=0, duration_s=1800, stage="W"),
            NightStage(start_s=1800, duration_s=1800, stage="N3"),
        ),
    }
    return NightPage.model_validate(values | changes)


def lane(lines: list[str], name: str) -> str:
    (found,) = (line for line in lines if line.lstrip().startswith(name))
    return found[25:].ljust(60)


def test_a_stage_stands_where_it_was_scored() -> None:
    lines = night_lines(night(), 85)
    assert lane(lines, "W ").strip() == lane(lines, "W ")[:30].strip() == "█" * 30
    assert lane(lines, "N3")[:29].strip() == ""
    assert set(lane(lines, "N3")[31:]) == {"█"}


def test_quality_has_shares_over_time_and_in_all() -> None:
    lines = night_lines(night(), 85)
    assert set(lane(lines, "Excellent")[:29]) == {"█"}
    assert lane(lines, "Excellent")[31:].strip() == ""
    assert any("Unacceptable 50 %" in line for line in lines)


def test_a_rising_heart_rate_rises() -> None:
    lines = night_lines(night(), 85)
    top = lane(lines, "100") if any("100" in line for line in lines) else lane(lines, "99")
    assert top[:20].strip() == ""
    assert top[-1] == "█"


def test_a_night_without_rates_or_stages_is_drawn_all_the_same() -> None:
    lines = night_lines(night(heart_rate=(None,) * 360, stages=()), 85)
    assert not any("heart rate" in line or "sleep stage" in line for line in lines)


def test_a_spike_of_the_ecg_reaches_the_top_row_at_its_time() -> None:
    signal = np.zeros(1000)
    signal[500] = 1
    lines = strip_lines(Strip(caption="c", fs=100, signal=tuple(signal)), 80)
    assert lines[0] == "c"
    assert 37 <= lines[1].index("▀" if "▀" in lines[1] else "█") <= 41
    assert lines[-1].startswith("0 s")
