"""A tied process ends with the one that started it, at any moment of its start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows.runtime.processes import tied_command

OWNER = """
import subprocess, sys, time
from flows.runtime.processes import tied_command
command = [sys.executable, "-m", "http.server", "--bind=127.0.0.1", "0"]
child = subprocess.Popen(tied_command(command), stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def ends(pid: int, within_s: float = 15) -> bool:
    deadline = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


@pytest.mark.parametrize("after_s", [0.0, 0.05, 1.0])
def test_killed_owner_leaves_no_process(after_s: float) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    time.sleep(after_s)
    assert is_alive(pid)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert ends(pid)


def test_process_lives_as_long_as_its_owner() -> None:
    command = [sys.executable, "-m", "http.server", "--bind=127.0.0.1", "0"]
    process = subprocess.Popen(tied_command(command))
    time.sleep(1.5)
    assert process.poll() is None
    process.terminate()
    process.wait()


def test_module_runs_as_by_itself(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"b": 1}')
    command = tied_command(
        [sys.executable, "-m", "json.tool", "--compact", str(tmp_path / "x.json")]
    )
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == '{"b":1}\n'


def test_another_parent_than_named_is_no_parent() -> None:
    command = tied_command([sys.executable, "-m", "http.server", "--bind=127.0.0.1", "0"])
    command[command.index(str(os.getpid()))] = "1"
    assert subprocess.run(command, timeout=20, check=False).returncode != 0
