"""Nights and grades on the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deaps.evaluation.document import Evaluation, NightEvent, NightPage, NightStage, QualityGrades
from deaps.report.nights import example_nights, night_page, night_page_plot, scored_dataset
from deaps.report.page import html_page, report_sections
from storage.publish import publish
from storage.schema import DatasetRow
from storage.snapshot import open_index
from tests.deaps.report.made_evaluation import made_evaluation
from tests.storage.index.test_scoring_rows import make_scoring
from tests.storage.made_store import SETTINGS, make_row, write_recording

NIGHT = NightPage(
    title="SHHS, 12 apneas and hypopneas an hour",
    window_s=10,
    quality=("Excellent", "Unacceptable", "Excellent"),
    heart_rate=(60.0, None, 62.5),
    stages=(NightStage(start_s=0, duration_s=30, stage="REM"),),
    events=(NightEvent(start_s=4, duration_s=12, kind="hypopnea"),),
    representation="deaps",
    components=((0.1, None, -0.2),),
)
GRADES = QualityGrades(
    dataset="shhs", grade=(5, 3, 1), share=(0.0, 0.1, 0.5), correlation=-1.0, low=-1.0, high=-0.2,
    subjects=3,
)  # fmt: skip


@pytest.mark.parametrize(
    ("hours", "axis"), [(0.5, "minutes from the start"), (2, "hours from the start")]
)
def test_a_short_recording_has_its_time_in_minutes(hours: float, axis: str) -> None:
    n_windows = int(hours * 360)
    night = NIGHT.model_copy(
        update={"quality": ("Excellent",) * n_windows, "heart_rate": (60.0,) * n_windows,
                "components": ()}
    )  # fmt: skip
    assert axis in night_page_plot(night, name="night")


def page(**changes: object) -> str:
    evaluation: Evaluation = made_evaluation().model_copy(update=changes)
    return html_page("made", report_sections(evaluation))


def test_nights_have_a_section_of_their_own() -> None:
    text = page(nights=(NIGHT,))
    assert 'id="nights"' in text
    assert "hypopnea" in text
    assert "component 1 of deaps" in text
    assert 'id="nights"' not in page()


def test_grades_stand_among_the_quality_with_their_correlation() -> None:
    text = page(quality_grades=(GRADES,))
    assert "is -1.00 (95 % interval over people -1.00 to -0.20)" in text
    flat = GRADES.model_copy(update={"correlation": None, "low": None, "high": None})
    assert "does not vary" in page(quality_grades=(flat,))


def test_a_night_has_what_the_index_has(tmp_path: Path) -> None:
    rows = [write_recording(tmp_path, make_row(f"r{k}", scoring_digest="s"), 12) for k in range(3)]
    scorings = {
        ("ds", f"r{k}"): make_scoring(
            [(0, 120, "N2", None)], [(20.0 * j, 10, "hypopnea") for j in range(k + 1)]
        )
        for k in range(3)
    }
    publish(tmp_path, rows, datasets=[DatasetRow("ds")], settings=SETTINGS, scorings=scorings)
    with open_index(tmp_path) as index:
        assert scored_dataset(index) == "ds"
        assert example_nights(index, "ds") == [(2, pytest.approx(60)), (3, pytest.approx(90))]
        rng = np.random.default_rng(0)
        embeddings = rng.standard_normal((12, 5)).astype(np.float32)
        night = night_page(index, 2, title="t", representation="r", embeddings=embeddings)
    assert [event.kind for event in night.events] == ["hypopnea"] * 2
    assert len(night.components) == 3
    # Every other window is clipped, and the gate rejects it.
    assert [value is None for value in night.components[0]] == [False, True] * 6
