"""The same work with Prefect and without."""

from __future__ import annotations

import logging
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from flows.runtime import prefect_glue
from flows.runtime.prefect_glue import (
    run_command,
    run_side_by_side,
    run_stage,
    stage_task,
    unmapped,
)
from flows.runtime.server_address import named_server
from storage.errors import DeapsError


@stage_task("halve {number}")
def halve(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_outside_of_a_flow_a_step_is_a_plain_call() -> None:
    assert halve(unmapped(4)) == 2


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_step_that_fails_does_not_stop_the_others(at_once: int) -> None:
    first, second, third = halve.run_all([(2,), (3,), (4,)], at_once=at_once)
    assert (first(), third()) == (1, 2)
    with pytest.raises(ValueError, match="3 is odd"):
        second()


class Work:
    """Work that notes how it was called; ``error`` is what Prefect raises at its end."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[str] = []
        self.error = error

    def __call__(self) -> int:
        self.calls.append("directly")
        return 3

    def as_flow(self, name: str, body: Any, parameters: Any) -> int:
        assert body is self
        self.calls.append(f"{name} {parameters}")
        if self.error:
            raise self.error
        return 3


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A server at an address, which may have a problem, and what becomes a flow run there."""
    state = SimpleNamespace(address="http://lab/api", problem=None, work=Work())
    monkeypatch.setattr(prefect_glue, "named_server", lambda: state.address)
    monkeypatch.setattr(prefect_glue, "server_problem", lambda: state.problem)
    monkeypatch.setattr(prefect_glue, "_as_flow", lambda *given: state.work.as_flow(*given))
    return state


def test_where_a_server_answers_a_command_is_a_flow_run(server: SimpleNamespace) -> None:
    assert run_command("deaps-train", server.work, {"preset": None}) == 3
    assert server.work.calls == ["deaps-train {'preset': None}"]


def test_where_no_server_is_named_a_line_says_how_to_have_one(
    server: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    server.address = None
    assert run_command("deaps-train", server.work, {}) == 3
    assert server.work.calls == ["directly"]
    line = "no Prefect server here; to watch runs in its pages, start `deaps serve` first\n"
    assert capsys.readouterr().err == line


def test_without_a_server_that_answers_the_work_is_done_and_a_line_says_so(
    server: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    server.problem = "no Prefect server: nothing answers"
    assert run_command("deaps-train", server.work, {}) == 3
    assert server.work.calls == ["directly"]
    line = "no Prefect server: nothing answers; working without Prefect\n"
    asking = "asking the Prefect server at http://lab/api ...\n"
    assert capsys.readouterr().err == f"{asking}{line}"


def test_a_server_that_goes_away_in_the_middle_stops_nothing(
    server: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    server.work.error = httpx.ConnectError("refused")
    assert run_command("deaps-train", server.work, {}) == 3
    assert server.work.calls == ["deaps-train {}", "directly"]
    assert "going on without it" in capsys.readouterr().err


def test_an_error_of_the_work_itself_is_raised(server: SimpleNamespace) -> None:
    server.work.error = ValueError("ours")
    with pytest.raises(ValueError, match="ours"):
        run_command("deaps-train", server.work, {})


def test_a_stage_outside_of_a_flow_is_its_function() -> None:
    work = Work()
    assert run_stage("deaps-train", work, {}, run_name="train x") == 3
    assert work.calls == ["directly"]


@pytest.mark.parametrize("at_once", [1, 2])
def test_work_side_by_side_returns_what_each_call_did(at_once: int) -> None:
    def invert(number: int) -> float:
        return 1 / number

    one, none, two = run_side_by_side(invert, [(1,), (0,), (2,)], at_once=at_once)
    assert (one(), two()) == (1.0, 0.5)
    with pytest.raises(ZeroDivisionError):
        none()


def test_an_artifact_that_the_server_does_not_take_is_tried_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []

    def refuse() -> None:
        tries.append(1)
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(prefect_glue, "in_flow", lambda: True)
    monkeypatch.setattr(prefect_glue, "_given_up", False)
    for _ in range(3):
        prefect_glue._publish(refuse)
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
    monkeypatch.setattr(prefect_glue.sys, "modules", loaded)
    assert prefect_glue.in_flow() is False
    assert "prefect" not in loaded


def test_prefect_prints_no_traceback_of_an_error_that_a_person_can_mend(
    server: SimpleNamespace,
) -> None:
    def record(error: type[Exception]) -> logging.LogRecord:
        info = (error, error("x"), None)
        return logging.LogRecord("prefect.flow_runs", logging.ERROR, "", 0, "failed", (), info)

    run_command("deaps-train", server.work, {})
    logger = logging.getLogger("prefect.flow_runs")
    assert not logger.filter(record(DeapsError))
    assert logger.filter(record(ValueError))


def test_a_named_server_that_never_answers_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    monkeypatch.setattr(prefect_glue, "_ANSWER_S", 0.5)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(5)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        started = time.monotonic()
        with temporary_settings({PREFECT_API_URL: url}):
            problem = prefect_glue.server_problem()
    assert problem is not None
    assert problem.startswith("no Prefect server")
    assert time.monotonic() - started < 30
