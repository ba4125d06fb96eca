from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deaps.evaluation.examples import Windows, average_windows
from deaps.evaluation.features import has_features, read_features, write_features
from storage.errors import DeapsError

WINDOWS = Windows(
    np.array([7, 7, 2], np.int32), np.array([1, 0, 5], np.int32), np.array([70, 70, 20], np.uint64)
)
FEATURES = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_features_come_back_in_the_order_asked(tmp_path: Path) -> None:
    write_features(tmp_path / "f.parquet", WINDOWS, FEATURES)
    table = read_features(tmp_path / "f.parquet")
    assert (table.of(WINDOWS) == FEATURES).all()
    assert table.of(WINDOWS.at(np.array([2, 2]))).tolist() == [[4, 5], [4, 5]]


def test_a_window_without_features_is_an_error(tmp_path: Path) -> None:
    write_features(tmp_path / "f.parquet", WINDOWS, FEATURES)
    table = read_features(tmp_path / "f.parquet")
    with pytest.raises(KeyError, match="1 of 2 windows have no features"):
        table.of(replace(WINDOWS.at(slice(2)), content=np.array([70, 90], np.uint64)))


def test_features_belong_to_content_and_not_to_numbers_of_recordings(tmp_path: Path) -> None:
    """An index that is built anew may number its recordings otherwise."""
    write_features(tmp_path / "f.parquet", WINDOWS, FEATURES)
    renumbered = replace(WINDOWS, recording_id=np.array([2, 2, 7], np.int32))
    assert (read_features(tmp_path / "f.parquet").of(renumbered) == FEATURES).all()
    assert renumbered.digest() == WINDOWS.digest()
    assert WINDOWS.at(slice(2)).digest() != WINDOWS.digest()
    assert WINDOWS.at(np.array([2, 0, 1])).digest() == WINDOWS.digest()


def test_a_recording_is_the_mean_over_its_windows() -> None:
    assert average_windows(FEATURES, np.array([0, 0, 1])).tolist() == [[1, 2], [4, 5]]


def test_unknown_values_are_left_out_of_the_mean() -> None:
    features = np.array([[1, np.nan], [3, np.nan], [np.nan, 5]])
    found = average_windows(features, np.array([0, 0, 1]))
    np.testing.assert_equal(found, [[2, np.nan], [np.nan, 5]])


def test_an_example_of_one_window_is_that_window() -> None:
    features = np.array([[1, np.nan], [np.inf, 5]], np.float32)
    found = average_windows(features, np.array([0, 1]))
    assert found.dtype == np.float64
    np.testing.assert_equal(found, [[1, np.nan], [np.nan, 5]])


@pytest.mark.parametrize("at", [100, -20])
def test_a_changed_bit_is_noticed_and_the_file_made_anew(tmp_path: Path, at: int) -> None:
    path = tmp_path / "f.parquet"
    write_features(path, WINDOWS, FEATURES)
    assert has_features(path)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    assert not has_features(path)
    with pytest.raises(DeapsError, match="run deaps evaluate again"):
        read_features(path)


def test_features_without_their_digest_are_none(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write_features(path, WINDOWS, FEATURES)
    path.with_name("f.parquet.sha256").unlink()
    assert not has_features(path)
