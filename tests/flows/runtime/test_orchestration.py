"""The same work with Prefect and without."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from flows.runtime import orchestration, prefect_server, progress
from flows.runtime.orchestration import call_stage, opaque, run_flow, stage_task
from flows.runtime.server_address import named_server
from storage.errors import DeapsError


@stage_task("halve {number}")
def halve(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_outside_of_a_flow_a_step_is_a_plain_call() -> None:
    assert halve(opaque(4)) == 2


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_step_that_fails_does_not_stop_the_others(at_once: int) -> None:
    first, second, third = halve.run_all([(2,), (3,), (4,)], at_once=at_once)
    assert (first(), third()) == (1, 2)
    with pytest.raises(ValueError, match="3 is odd"):
        second()


class FakeFlow:
    """A flow that notes how it was called; ``error`` is what Prefect raises at its end."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[str] = []
        self.error = error

    def __call__(self, number: int) -> int:
        self.calls.append("flow")
        if self.error:
            raise self.error
        return number

    def fn(self, number: int) -> int:
        self.calls.append("function")
        return number


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    state = SimpleNamespace(problem=None)
    monkeypatch.setattr(prefect_server, "server_problem", lambda: state.problem)
    return state


def test_with_a_server_a_flow_is_a_flow(server: SimpleNamespace) -> None:
    flow = FakeFlow()
    assert run_flow(flow, number=3) == 3
    assert flow.calls == ["flow"]


def test_without_a_server_its_work_is_done_and_a_line_says_so(
    server: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    server.problem = "no Prefect server: nothing answers"
    flow = FakeFlow()
    assert run_flow(flow, number=3) == 3
    assert flow.calls == ["function"]
    line = "no Prefect server: nothing answers; working without Prefect\n"
    assert capsys.readouterr().err == f"starting Prefect's server ...\n{line}"


def test_a_server_that_goes_away_in_the_middle_stops_nothing(
    server: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = FakeFlow(httpx.ConnectError("refused"))
    assert run_flow(flow, number=3) == 3
    assert flow.calls == ["flow", "function"]
    assert "going on without it" in capsys.readouterr().err


def test_an_error_of_the_work_itself_is_raised(server: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="ours"):
        run_flow(FakeFlow(ValueError("ours")), number=3)


def test_a_stage_outside_of_a_flow_is_its_function() -> None:
    flow = FakeFlow()
    assert call_stage(flow, number=3) == 3
    assert flow.calls == ["function"]


def test_an_artifact_that_the_server_does_not_take_is_tried_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []

    def refuse() -> None:
        tries.append(1)
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(progress, "in_flow", lambda: True)
    monkeypatch.setattr(progress, "_given_up", False)
    for _ in range(3):
        progress._leave(refuse)
    assert tries == [1]


@pytest.fixture
def _plain_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


PROFILES = """
active = "lab"
[profiles.lab]
PREFECT_API_URL = "http://lab:4200/api"
"""


@pytest.mark.usefixtures("_plain_shell")
def test_a_server_is_named_where_prefect_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert named_server() is None
    (tmp_path / "home").mkdir()
    (tmp_path / "home/profiles.toml").write_text(PROFILES)
    assert named_server() == "http://lab:4200/api"
    (tmp_path / "prefect.toml").write_text('[api]\nurl = "http://project/api"\n')
    assert named_server() == "http://project/api"
    monkeypatch.setenv("PREFECT_API_URL", "http://typed/api")
    assert named_server() == "http://typed/api"


def test_in_a_flow_is_known_without_importing_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: dict[str, Any] = {}
    monkeypatch.setattr(orchestration.sys, "modules", loaded)
    assert orchestration.in_flow() is False
    assert "prefect" not in loaded


def test_prefect_prints_no_traceback_of_an_error_that_a_person_can_mend(
    server: SimpleNamespace,
) -> None:
    def record(error: type[Exception]) -> logging.LogRecord:
        info = (error, error("x"), None)
        return logging.LogRecord("prefect.flow_runs", logging.ERROR, "", 0, "failed", (), info)

    run_flow(FakeFlow(), number=3)
    logger = logging.getLogger("prefect.flow_runs")
    assert not logger.filter(record(DeapsError))
    assert logger.filter(record(ValueError))
