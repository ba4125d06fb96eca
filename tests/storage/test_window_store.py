from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from storage import RecordingRow, Snapshot, WindowStore
from storage.windows import WindowFileError
from tests.storage.made_store import make_row, make_signal, publish_rows, write_recording

IDS = [1, 2, 3]  # of the recordings a1, a2 and a3, which have 4, 5 and 6 windows


@pytest.fixture
def store(root: Path, published: Snapshot) -> WindowStore:
    return WindowStore(root)


def expected(ids: list[int], rows: list[int]) -> np.ndarray:
    windows = {number: make_signal(3 + number, number - 1) for number in IDS}
    return np.stack([windows[i][r] for i, r in zip(ids, rows, strict=True)]).astype(np.float32)


def test_windows_come_in_the_order_asked_repeated_or_not(store: WindowStore) -> None:
    ids, rows = [3, 1, 2, 3, 1, 3], [5, 0, 4, 0, 0, 5]
    assert np.array_equal(store.read(ids, rows), expected(ids, rows))


def test_more_windows_than_a_block_come_out_right(store: WindowStore) -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 4, 2_500).tolist()
    rows = [int(rng.integers(0, 3 + i)) for i in ids]
    assert np.array_equal(store.read(ids, rows), expected(ids, rows))


def test_a_whole_recording(store: WindowStore) -> None:
    assert np.array_equal(store.read_recording(2), make_signal(5, 1).astype(np.float32))
    assert store.recording_ids.tolist() == IDS
    assert store.n_windows(3) == 6


def test_nothing_asked_nothing_read(store: WindowStore) -> None:
    assert store.read([], []).shape == (0, 1000)


def test_the_result_goes_where_asked(store: WindowStore) -> None:
    out = np.empty((2, 1000), np.float32)
    assert store.read([1, 2], [0, 0], out=out) is out
    assert np.array_equal(out, expected([1, 2], [0, 0]))


@pytest.mark.parametrize(
    "out",
    [
        np.empty((3, 1000), np.float32),
        np.empty((2, 1000), np.float64),
        np.empty((1000, 2), np.float32).T,
    ],
)
def test_an_unfit_place_for_the_result_is_refused(store: WindowStore, out: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected C-contiguous float32"):
        store.read([1, 2], [0, 0], out=out)


def test_a_store_with_two_maps_reads_the_same(root: Path, published: Snapshot) -> None:
    store = WindowStore(root, max_maps=2)
    ids, rows = [1, 2, 3, 1, 2, 3], [0, 1, 2, 3, 4, 5]
    for _ in range(3):
        assert np.array_equal(store.read(ids, rows), expected(ids, rows))
    assert len(store._maps) == 2


@pytest.mark.parametrize("number", [0, 4, 99, -1])
def test_unknown_and_quarantined_recordings_are_named(store: WindowStore, number: int) -> None:
    with pytest.raises(KeyError, match=rf"no windows of recording \[{number}\]"):
        store.read([1, number], [0, 0])


@pytest.mark.parametrize("row", [4, -1])
def test_rows_out_of_range_are_named_with_the_range(store: WindowStore, row: int) -> None:
    with pytest.raises(IndexError, match=f"row {row} of recording 1: allowed are 0 to 3"):
        store.read([2, 1], [0, row])


def test_ids_and_rows_must_be_integers_of_equal_number(store: WindowStore) -> None:
    with pytest.raises(ValueError, match="length 2, rows 1"):
        store.read([1, 2], [0])
    with pytest.raises(ValueError, match=r"float64 \(1,\); expected integers"):
        store.read([1.0], [0])


def test_a_missing_file_sends_to_the_doctor(
    root: Path, rows: list[RecordingRow], store: WindowStore
) -> None:
    (root / str(rows[0].path)).unlink()
    with pytest.raises(WindowFileError, match=r"a1.*is missing; run deaps doctor"):
        store.read([1], [0])


@pytest.mark.parametrize("keep", [0, 3_000])
def test_a_file_of_another_size_sends_to_the_doctor(
    root: Path, rows: list[RecordingRow], store: WindowStore, keep: int
) -> None:
    path = root / str(rows[0].path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(WindowFileError, match=f"has {keep} bytes, not {rows[0].bytes}; run"):
        store.read([1], [0])


def test_an_unknown_normalisation_is_refused(root: Path, published: Snapshot) -> None:
    with pytest.raises(ValueError, match="'subject'; allowed are recording, dataset, window"):
        WindowStore(root, normalise="subject")  # type: ignore[arg-type]


def test_windows_have_zero_mean_and_unit_deviation_if_asked(root: Path) -> None:
    publish_rows(root, [write_recording(root, make_row(), 4)])
    windows = WindowStore(root, normalise="window").read_recording(1)
    assert np.allclose(windows.mean(axis=1), 0, atol=1e-6)
    assert np.allclose(windows.std(axis=1), 1, atol=1e-6)


def test_data_set_units_are_those_of_all_its_samples(root: Path) -> None:
    rng = np.random.default_rng(1)
    raw = {"r1": rng.normal(0.2, 0.5, 4_000), "r2": rng.normal(-1, 2, 5_000)}
    rows = []
    for name, mv in raw.items():
        row = make_row(name, n_samples=mv.size, mean_mv=mv.mean(), std_mv=mv.std())
        rows.append(_write_normalised(root, row, mv))
    publish_rows(root, [*rows, write_recording(root, make_row("r3", "other", mean_mv=9.0), 3)])
    together = np.concatenate(list(raw.values()))
    ids = np.repeat([2, 1], [5, 4]) + _first_id(root)
    read = WindowStore(root, normalise="dataset").read(ids, [*range(5), *range(4)])
    asked = np.concatenate([raw["r2"], raw["r1"]]).reshape(-1, 1000)
    assert np.allclose(read, (asked - together.mean()) / together.std(), atol=4e-3)


def _first_id(root: Path) -> int:
    from storage import open_index

    with open_index(root) as index:
        return int(index.execute("SELECT min(recording_id) FROM recordings").fetchall()[0][0]) - 1


def _write_normalised(root: Path, row: RecordingRow, mv: np.ndarray) -> RecordingRow:
    from storage import window_path, write_window_file
    from tests.storage.made_store import make_columns

    z = ((mv - mv.mean()) / mv.std()).astype(np.float16).reshape(-1, 1000)
    path = root / window_path(row.dataset, row.name, str(row.digest))
    return write_window_file(path, make_columns(len(z)), z, row)


def test_constant_windows_become_zeros(root: Path) -> None:
    from storage.window_store import DatasetScaling, normalise_windows

    windows = np.full((2, 1000), 3, np.float32)
    nothing = DatasetScaling(np.empty(0, np.float32), np.empty(0, np.float32))
    normalise_windows(windows, "window", nothing, np.zeros(2, np.int64))
    assert not windows.any()


def test_a_pickled_store_reads_the_same(store: WindowStore) -> None:
    before = store.read([3, 1], [0, 1])
    copy = pickle.loads(pickle.dumps(store))
    assert len(copy._maps) == 0
    assert np.array_equal(copy.read([3, 1], [0, 1]), before)


def test_a_store_can_be_handed_to_another_process(store: WindowStore) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        read = pool.apply(store.read, ([3, 1], [0, 1]))
    assert np.array_equal(read, expected([3, 1], [0, 1]))


def test_threads_share_a_store(root: Path, published: Snapshot) -> None:
    store = WindowStore(root, max_maps=1)

    def read(seed: int) -> bool:
        ids = np.random.default_rng(seed).integers(1, 4, 300).tolist()
        rows = [seed % 4] * 300
        return np.array_equal(store.read(ids, rows), expected(ids, rows))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(40)))


def test_a_run_reads_from_the_index_it_linked(root: Path, rows: list[RecordingRow]) -> None:
    first = publish_rows(root, rows)
    link = root / "runs/run1/index.duckdb"
    link.parent.mkdir(parents=True)
    link.hardlink_to(root / "index.duckdb")
    publish_rows(root, rows[:1])
    assert WindowStore(root, index=link).snapshot_id == first.snapshot_id
    assert WindowStore(root, index=link).read([3], [5]).shape == (1, 1000)
    assert WindowStore(root).recording_ids.tolist() == [1]


def test_changed_bit_is_noticed_when_a_file_is_first_mapped(tmp_path: Path) -> None:
    row = write_recording(tmp_path, make_row(), 4)
    publish_rows(tmp_path, [row])
    path = tmp_path / str(row.path)
    content = bytearray(path.read_bytes())
    content[(row.signal_offset or 0) + 4321] ^= 64
    path.write_bytes(content)
    with pytest.raises(WindowFileError, match="was changed: its SHA-256 differs"):
        WindowStore(tmp_path).read([1], [0])


def test_file_is_compared_once_in_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    hashed: list[int] = []
    sha256 = hashlib.sha256
    publish_rows(tmp_path, [write_recording(tmp_path, make_row(n), 4) for n in ("a", "b")])
    monkeypatch.setattr(
        "storage.window_store.hashlib.sha256",
        lambda data: hashed.append(len(data)) or sha256(data),
    )
    for _ in range(3):
        WindowStore(tmp_path, max_maps=1).read([1, 2, 1, 2], [0, 1, 2, 3])
    assert len(hashed) == 2
