from __future__ import annotations

import os
from pathlib import Path

import pytest

from storage.care import lock_holders as module
from storage.care.lock_holders import lock_holders
from storage.locks import nobody_writing, publisher_lock, writing_windows


def test_nobody_holds_the_locks_of_a_store_at_rest(tmp_path: Path) -> None:
    assert lock_holders(tmp_path) == []
    with writing_windows(tmp_path):
        pass
    assert lock_holders(tmp_path) == []


def test_holder_is_told_by_purpose_and_process(tmp_path: Path) -> None:
    with writing_windows(tmp_path), publisher_lock(tmp_path):
        holders = lock_holders(tmp_path)
    assert [(holder.purpose, holder.pid) for holder in holders] == [
        ("bringing the store up to date", os.getpid()),
        ("publishing the index", os.getpid()),
    ]
    assert holders[0].command


def test_holder_that_the_kernel_does_not_list_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KERNEL_LIST", tmp_path / "nothing")
    with writing_windows(tmp_path):
        assert [holder.pid for holder in lock_holders(tmp_path)] == [None]


def test_those_who_wait_come_after_the_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".writers.lock").touch()
    inode = (tmp_path / ".writers.lock").stat().st_ino
    kernel = tmp_path / "locks"
    kernel.write_text(
        f"1: -> FLOCK  ADVISORY  WRITE 12 08:01:{inode} 0 EOF\n"
        f"1: FLOCK  ADVISORY  WRITE 11 08:01:{inode} 0 EOF\n"
        f"2: POSIX  ADVISORY  WRITE 10 08:01:{inode} 0 EOF\n"
    )
    monkeypatch.setattr(module, "_KERNEL_LIST", kernel)
    found = [(holder.pid, holder.waiting) for holder in lock_holders(tmp_path)]
    assert found == [(11, False), (12, True)]


def test_looking_takes_no_lock_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".writers.lock").touch()
    monkeypatch.setattr(module, "_KERNEL_LIST", tmp_path / "nothing")
    assert lock_holders(tmp_path) == []
    with nobody_writing(tmp_path):
        pass
