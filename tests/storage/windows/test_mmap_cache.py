"""Limits of open files: a store lives within them, and only a program raises them."""

from __future__ import annotations

import gc
import pickle
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from storage import WindowStore
from storage.window_store import MapCache, map_windows, open_file_limit, raise_open_file_limit
from storage.windows import WindowFileError
from tests.storage.made_store import make_row, make_signal, publish_rows, write_recording

LIMIT = 100
RECORDINGS = 150


@contextmanager
def soft_limit(soft: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(autouse=True, scope="module")
def _few_open_files() -> None:
    """Close the window files of stores that other tests of this process have left open."""
    if (jobs := sys.modules.get("flows.experiment.jobs")) is not None:
        jobs._store.cache_clear()
    gc.collect()
    if psutil.Process().num_fds() > LIMIT // 3:
        pytest.skip("other tests of this process hold too many files open")


@pytest.fixture
def low_limit() -> Iterator[None]:
    with soft_limit(LIMIT):
        yield


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of more recordings than the limit allows to map."""
    root = tmp_path_factory.mktemp("many") / "store"
    rows = [write_recording(root, make_row(f"r{i}"), 1, seed=i) for i in range(RECORDINGS)]
    publish_rows(root, rows)
    return root


def assert_reads_everything(store: WindowStore) -> None:
    ids = np.random.default_rng(0).permutation(RECORDINGS)
    windows = store.read(ids + 1, np.zeros(RECORDINGS, int))
    expected = [make_signal(1, int(i))[0] for i in ids]
    assert np.array_equal(windows, np.stack(expected).astype(np.float32))


def test_a_store_leaves_the_limit_of_open_files_as_it_is(many: Path, low_limit: None) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert_reads_everything(WindowStore(many))
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_more_recordings_than_open_files_are_read_with_fewer_maps(
    many: Path, low_limit: None
) -> None:
    store = WindowStore(many)
    for _ in range(2):
        assert_reads_everything(store)
    assert 0 < len(store._maps) <= LIMIT // 2


def test_stores_that_share_the_limit_give_way_to_each_other(many: Path, low_limit: None) -> None:
    stores = [WindowStore(many) for _ in range(4)]  # each alone may map half of the limit
    for store in (*stores, stores[0]):
        assert_reads_everything(store)
    assert sum(len(store._maps) for store in stores) < LIMIT


def test_a_file_that_is_missing_closes_no_maps(many: Path, tmp_path: Path) -> None:
    store = WindowStore(many)
    assert_reads_everything(store)
    with pytest.raises(WindowFileError):
        map_windows(tmp_path / "nothing", size=1, offset=0, n_windows=1)
    assert len(store._maps) == RECORDINGS


def test_a_program_can_raise_the_limit_and_a_store_uses_it_at_once(low_limit: None) -> None:
    cache = MapCache()
    assert cache.cap == LIMIT // 2
    raised = raise_open_file_limit()
    assert LIMIT < raised == open_file_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert cache.cap > LIMIT // 2


def test_raising_never_lowers_the_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with soft_limit(hard):
        raise_open_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_where_the_hard_limit_is_not_granted_macos_own_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def setrlimit(kind: int, limits: tuple[int, int]) -> None:
        asked.append(limits[0])
        raise ValueError("current limit exceeds maximum limit")

    infinite = (LIMIT, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: infinite)
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    assert raise_open_file_limit() == LIMIT
    assert asked == [32_256, 10_240]


def test_a_pickled_cache_goes_by_the_limit_of_its_new_process(low_limit: None) -> None:
    pickled = pickle.dumps(MapCache()), pickle.dumps(MapCache(7))
    with soft_limit(60):
        assert [pickle.loads(cache).cap for cache in pickled] == [30, 7]


def test_the_block_that_was_not_used_for_longest_is_dropped() -> None:
    cache = MapCache(2)
    blocks = np.zeros((3, 1), "V2")
    cache.put(1, blocks[0])
    cache.put(2, blocks[1])
    assert cache.get(1) is not None
    cache.put(3, blocks[2])
    assert [cache.get(key) is None for key in (1, 2, 3)] == [False, True, False]


BUSY_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from storage.window_store import MapCache, map_windows

sys.setswitchinterval(1e-6)
cache = MapCache(1)

def read(seed):
    for key in np.random.default_rng(seed).integers(0, 3, 10_000).tolist():
        if cache.get(key) is None:
            cache.put(key, map_windows(Path(sys.argv[1]), size=8000, offset=0, n_windows=4))

with ThreadPoolExecutor(4) as pool:
    list(pool.map(read, range(4)))
print(len(cache))
"""


def test_threads_that_replace_each_others_maps_come_to_an_end(tmp_path: Path) -> None:
    path = tmp_path / "windows"
    path.write_bytes(bytes(8000))
    for _ in range(3):
        command = [sys.executable, "-c", BUSY_THREADS, str(path)]
        done = subprocess.run(command, capture_output=True, timeout=120, check=True)
        assert int(done.stdout) <= 4  # a thread may have put its own while others dropped theirs
