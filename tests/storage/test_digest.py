from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from storage.files import digest_of, file_sha256


def test_file_digest_is_that_of_its_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc" * 100_000)
    assert file_sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_order_of_keys_has_no_influence() -> None:
    assert digest_of({"a": 1, "b": (2, 3)}) == digest_of({"b": [2, 3], "a": 1})


def test_order_and_grouping_of_parts_matter() -> None:
    assert len({digest_of(1, 2), digest_of(2, 1), digest_of([1, 2]), digest_of(1, "2")}) == 4


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest_of(float("nan"))
    with pytest.raises(TypeError, match="Path is not JSON serializable"):
        digest_of(Path("x"))


@pytest.mark.timeout(20)
def test_a_pipe_has_no_digest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        file_sha256(tmp_path / "pipe")
