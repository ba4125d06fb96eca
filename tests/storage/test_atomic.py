from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from storage.files import is_temporary, replacing
from storage.locks import processes_with_open_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_new_content_appears_at_the_end_alone(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "file"
    with replacing(path) as temporary:
        temporary.write_text("first")
        assert names(path.parent) == [temporary.name]
        assert is_temporary(temporary)
    with replacing(path) as temporary:
        temporary.write_text("second")
        assert path.read_text() == "first"
    assert path.read_text() == "second"
    assert names(path.parent) == ["file"]


def write_half(path: Path) -> None:
    """Stop between writing and renaming, with DuckDB's journal beside the file."""
    with replacing(path) as temporary:
        temporary.write_text("half")
        temporary.with_name(temporary.name + ".wal").write_text("journal")
        raise KeyboardInterrupt


def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_block_that_raises_before_it_writes_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), replacing(tmp_path / "file"):
        raise KeyError
    assert names(tmp_path) == []


def test_an_error_of_the_system_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="file") as caught, replacing(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "file")


@pytest.mark.parametrize("fsync_folder", [True, False])
def test_content_is_on_the_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fsync_folder: bool
) -> None:
    path = tmp_path / "file"
    synced: list[tuple[str, bool]] = []

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append(("folder" if is_folder else "content", path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    with replacing(path, fsync_folder=fsync_folder) as temporary:
        temporary.touch()
    assert synced == [("content", False), ("folder", True)][: 2 if fsync_folder else 1]


def test_files_that_were_waited_for_do_not_stay_open(tmp_path: Path) -> None:
    with replacing(tmp_path / "file") as temporary:
        temporary.touch()
    assert processes_with_open_file(tmp_path / "file") == []


@pytest.mark.parametrize("mode", [0o444, 0o600])
def test_the_file_gets_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    with replacing(tmp_path / "file", mode=mode) as temporary:
        temporary.touch()
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_nobody_may_read_a_file_whom_the_umask_keeps_out(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with replacing(tmp_path / "file", mode=0o444) as temporary:
            temporary.touch()
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o400


def test_the_longest_name_that_a_file_system_allows_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    with replacing(path, fsync_folder=False) as temporary:
        temporary.write_text("content")
    assert path.read_text() == "content"
