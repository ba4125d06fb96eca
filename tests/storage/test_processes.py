from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from storage.locks import command_words, processes_with_open_file

CODE = "import sys; print('ready', flush=True); sys.stdin.read()"
SLEEPER = [sys.executable, "-c", CODE, "a b", ""]


def test_the_command_line_comes_word_by_word_until_the_process_ends() -> None:
    with subprocess.Popen(SLEEPER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdout
        assert sleeper.stdout.readline() == b"ready\n"  # before, it may still be our copy
        assert command_words(sleeper.pid) == SLEEPER
    assert command_words(sleeper.pid) == []


def test_a_process_that_has_ended_and_was_not_waited_for_has_no_command() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert ended.stdout
    assert ended.stdout.read() == b""  # it has closed its output: it is ending
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert command_words(ended.pid) == []
    ended.stdout.close()
    ended.wait()


def test_who_has_a_file_open_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert processes_with_open_file(path) == []
    link = tmp_path / "link"
    link.symlink_to(path)
    with path.open("a"):
        assert processes_with_open_file(link) == [os.getpid()]
