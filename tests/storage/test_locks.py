"""Locks: who waits for whom, and who is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from storage import locks
from storage.errors import DeapsError
from storage.locks import (
    no_writer,
    publisher_lock,
    steps_lock,
    training_lock,
    wait_for_steps,
    writer_lock,
)

Lock = Callable[..., AbstractContextManager[None]]


@pytest.mark.parametrize("lock", [writer_lock, training_lock])
def test_the_second_process_waits_and_says_so(tmp_path: Path, lock: Lock) -> None:
    messages: list[str] = []
    order: list[str] = []
    waiting = threading.Event()

    def on_wait(message: str) -> None:
        messages.append(message)
        waiting.set()

    def second() -> None:
        with lock(tmp_path, on_wait=on_wait):
            order.append("second")

    thread = threading.Thread(target=second)
    with lock(tmp_path, on_wait=messages.append):
        thread.start()
        assert waiting.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert messages == [f"another run is working on {tmp_path}; waiting for it to end"]


@pytest.mark.parametrize("lock", [writer_lock, training_lock])
def test_a_folder_that_does_not_exist_is_made(tmp_path: Path, lock: Lock) -> None:
    for _ in range(2):
        with lock(tmp_path / "new" / "folder"):
            assert (tmp_path / "new" / "folder").is_dir()


def ends_before(action: Callable[[], Any], lock: AbstractContextManager[None]) -> bool:
    """Return whether an action that is started under a lock ends before the lock is free."""
    thread = threading.Thread(target=action)
    with lock:
        thread.start()
        thread.join(0.5)
        ended = not thread.is_alive()
    thread.join(20)
    assert not thread.is_alive()
    return ended


def hold(lock: AbstractContextManager[None]) -> Callable[[], None]:
    """Return an action that takes a lock and releases it."""

    def action() -> None:
        with lock:
            pass

    return action


def test_publishers_wait_for_each_other(tmp_path: Path) -> None:
    assert not ends_before(hold(publisher_lock(tmp_path)), publisher_lock(tmp_path))


def test_writers_of_windows_do_not_wait_for_publishers(tmp_path: Path) -> None:
    assert ends_before(hold(writer_lock(tmp_path)), publisher_lock(tmp_path))


def test_a_writer_waits_for_who_keeps_writers_out(tmp_path: Path) -> None:
    assert not ends_before(hold(writer_lock(tmp_path)), no_writer(tmp_path))


def test_who_keeps_writers_out_is_refused_while_there_is_one(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path),
        pytest.raises(DeapsError, match=f"writes window files to {tmp_path}; try again"),
        no_writer(tmp_path),
    ):
        pass


def test_steps_of_a_run_are_taken_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_LAST_STEPS_S", 0.2)
    with (
        steps_lock(tmp_path),
        pytest.raises(DeapsError, match=f"another process trains {tmp_path}; try again"),
        steps_lock(tmp_path),
    ):
        pass


def test_steps_wait_for_a_process_that_is_about_to_end(tmp_path: Path) -> None:
    assert not ends_before(hold(steps_lock(tmp_path)), steps_lock(tmp_path))


def test_a_training_waits_for_steps_that_another_left_going(tmp_path: Path) -> None:
    said: list[str] = []
    waits = partial(wait_for_steps, tmp_path, on_wait=said.append)
    assert not ends_before(waits, steps_lock(tmp_path))
    assert said == [f"another run is working on {tmp_path}; waiting for it to end"]
    wait_for_steps(tmp_path, on_wait=said.append)
    assert len(said) == 1
