from __future__ import annotations

import threading
from pathlib import Path

from storage.locks import training_lock


def test_the_second_training_of_a_run_waits_and_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    order: list[str] = []

    def second() -> None:
        with training_lock(tmp_path, say_waiting=lambda text: (told.append(text), heard.set())):
            order.append("second")

    heard = threading.Event()
    thread = threading.Thread(target=second)
    with training_lock(tmp_path, say_waiting=told.append):
        thread.start()
        assert heard.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert told == [f"another run is working on {tmp_path}; waiting for it to end"]
