from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage import maintenance as module
from storage.locks import no_writer, publisher_lock, writer_lock
from storage.maintenance import lock_holders


def test_nobody_holds_the_locks_of_a_store_at_rest(tmp_path: Path) -> None:
    assert lock_holders(tmp_path) == []
    with writer_lock(tmp_path):
        pass
    assert lock_holders(tmp_path) == []


def test_a_holder_has_its_purpose_and_its_process(tmp_path: Path) -> None:
    with writer_lock(tmp_path), publisher_lock(tmp_path):
        holders = lock_holders(tmp_path)
    assert [(holder.purpose, holder.pid) for holder in holders] == [
        ("bringing the store up to date", os.getpid()),
        ("publishing the index", os.getpid()),
    ]
    assert holders[0].command
    assert not holders[0].command.startswith("python")


HOLD = """
import sys
from pathlib import Path
from storage.locks import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def no_kernel_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the list of locks, which macOS does not have."""
    monkeypatch.setattr(module, "_KERNEL_LIST", tmp_path / "nothing")


def test_without_the_kernels_list_the_one_process_with_the_file_open_is_named(
    tmp_path: Path, no_kernel_list: None
) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        (holder,) = lock_holders(tmp_path)
    assert (holder.pid, holder.waiting) == (process.pid, False)
    assert holder.command == " ".join(command[1:]).strip()[:100]


def test_without_the_kernels_list_one_of_several_processes_is_not_named(
    tmp_path: Path, no_kernel_list: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "processes_with_open_file", lambda path: [11, 12])
    with writer_lock(tmp_path):
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
        f"1: -> FLOCK  ADVISORY  WRITE -1 08:01:{inode} 0 EOF\n"
        f"2: POSIX  ADVISORY  WRITE 10 08:01:{inode} 0 EOF\n"
    )
    monkeypatch.setattr(module, "_KERNEL_LIST", kernel)
    holders = [(holder.pid, holder.waiting) for holder in lock_holders(tmp_path)]
    assert holders == [(11, False), (12, True), (None, True)]


def test_asking_keeps_no_lock(tmp_path: Path, no_kernel_list: None) -> None:
    (tmp_path / ".writers.lock").touch()
    assert lock_holders(tmp_path) == []
    with no_writer(tmp_path):
        pass
