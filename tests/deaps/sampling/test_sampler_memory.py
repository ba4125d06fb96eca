from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.isolated import run_isolated
from tests.bench.made_rows import narrow_recordings
from tests.bench.sampling import MANY_RECORDINGS, MANY_WINDOWS
from tests.storage.made_store import publish_rows


@pytest.mark.slow
def test_16_million_windows_take_less_than_a_gigabyte(tmp_path: Path) -> None:
    publish_rows(tmp_path, narrow_recordings(tmp_path, MANY_RECORDINGS, MANY_WINDOWS))
    seen = run_isolated("tests.bench.sampling", str(tmp_path))
    assert seen["windows"] > 16_000_000
    assert seen["peak_mb"] < 1000
