"""Counts and examples of quality classes, from a published store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from deaps.evaluation.document import DatasetLabels, QualityExample
from deaps.report.quality import quality_counts, quality_examples
from storage import Quality, WindowStore, open_index
from tests.storage.made_store import make_row, publish_rows, quarantined, write_recording

WINDOWS = 12


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two data sets of three recordings each; every second window is clipped."""
    root = tmp_path_factory.mktemp("quality") / "store"
    rows = [
        write_recording(
            root, make_row(f"r{k}", dataset, visit=1 + k % 2), WINDOWS, seed=k,
            quality=(np.arange(WINDOWS) // 4).astype(np.int8),
        )
        for k, dataset in enumerate(["mitdb"] * 3 + ["afpdb"] * 3)
    ]  # fmt: skip
    publish_rows(root, [*rows, quarantined("bad", "no ECG channel", dataset="mitdb")])
    return root


LABELS = DatasetLabels(mitdb="MIT-ARR")


def examples(store: Path, **changes: int) -> tuple[QualityExample, ...]:
    with open_index(store) as index:
        return quality_examples(index, WindowStore(store), labels=LABELS, **{"seed": 0} | changes)


def test_windows_are_counted_by_data_set_visit_and_class(store: Path) -> None:
    with open_index(store) as index:
        counts = quality_counts(index)
    found = {(c.dataset, c.visit, c.quality): c.n_windows for c in counts}
    per_visit = {("mitdb", 1): 2, ("mitdb", 2): 1, ("afpdb", 1): 1, ("afpdb", 2): 2}
    expected = {
        (*key, str(quality)): 4 * recordings
        for key, recordings in per_visit.items()
        for quality in Quality
    }
    assert found == expected


def test_there_are_three_examples_of_each_class_best_first(store: Path) -> None:
    assert [e.quality for e in examples(store)] == [str(q) for q in Quality for _ in range(3)]


def test_examples_come_from_both_data_sets(store: Path) -> None:
    for quality in Quality:
        sets = Counter(
            e.strip.caption.split(":")[0] for e in examples(store) if e.quality == quality
        )
        assert sets.keys() == {"MIT-ARR", "afpdb"}
        assert sorted(sets.values()) == [1, 2]


def test_examples_of_a_class_are_of_different_recordings(store: Path) -> None:
    strips = {e.strip.signal for e in examples(store, n=6)}
    assert len(strips) == 18


def test_strip_is_a_window_of_its_class_that_passed_the_gate(store: Path) -> None:
    windows = WindowStore(store)
    found = {
        tuple(np.round(signal.astype(float), 3)): row
        for recording in windows.recording_ids.tolist()
        for row, signal in enumerate(windows.read_recording(recording))
    }
    for example in examples(store):
        row = found[example.strip.signal]
        assert list(Quality)[row // 4] == example.quality
        assert row % 2 == 0


def test_captions_give_the_indices_and_no_recording(store: Path) -> None:
    captions = [example.strip.caption for example in examples(store)]
    assert all("pSQI" in caption and "basSQI" in caption for caption in captions)
    assert not any(f"r{k}" in caption for caption in captions for k in range(6))


def test_the_seed_decides(store: Path) -> None:
    assert examples(store) == examples(store)
    assert examples(store) != examples(store, seed=1)


def test_a_class_without_windows_has_no_examples(tmp_path: Path) -> None:
    zeros = np.zeros(4, np.int8)
    publish_rows(tmp_path, [write_recording(tmp_path, make_row(), 4, quality=zeros)])
    assert {e.quality for e in examples(tmp_path)} == {"Excellent"}
