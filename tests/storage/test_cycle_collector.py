from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from storage.packages import cycle_collector_paused


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


def fail_while_paused() -> None:
    with cycle_collector_paused():
        raise KeyError(gc.isenabled())


def test_the_collector_is_paused_inside_and_runs_again_after_an_error() -> None:
    gc.enable()
    with pytest.raises(KeyError, match="False"):
        fail_while_paused()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with cycle_collector_paused():
        pass
    assert not gc.isenabled()
