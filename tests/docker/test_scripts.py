"""The shell scripts of the containers, run by the shell that is here."""

from __future__ import annotations

import http.server
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.compose_file import DOCKER, read_compose

SCRIPTS = sorted(DOCKER.glob("*.sh"))
ANSWERS = {"/well": 200, "/ill": 503}


def _run(script: str, *arguments: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment |= {name: str(value) for name, value in variables.items()}
    return subprocess.run(
        ["sh", str(DOCKER / script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _with_secret(tmp_path: Path, content: str, *command: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "secret"
    file.write_text(content)
    return _run("with-secrets.sh", *command, PREFECT_API_AUTH_STRING_FILE=file)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(script: Path) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed (make venv brings it)")
    done = subprocess.run([program, str(script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_can_be_executed(script: Path) -> None:
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text().startswith("#!/bin/sh\n")


@pytest.mark.parametrize("secret", ["deaps:abc", "a b  c", "$HOME `id` \"'\\", "ends in space "])
def test_a_secret_reaches_the_command_unchanged(tmp_path: Path, secret: str) -> None:
    done = _with_secret(tmp_path, f"{secret}\n", "printenv", "PREFECT_API_AUTH_STRING")
    assert done.stdout == f"{secret}\n"


def test_the_files_name_does_not_reach_the_command(tmp_path: Path) -> None:
    done = _with_secret(tmp_path, "deaps:abc", "printenv", "PREFECT_API_AUTH_STRING_FILE")
    assert done.stdout == ""


def test_arguments_reach_the_command_as_they_are() -> None:
    done = _run("with-secrets.sh", "printf", "<%s>", "FROM recordings", "$HOME", "")
    assert done.stdout == "<FROM recordings><$HOME><>"


def test_the_commands_exit_code_is_kept() -> None:
    assert _run("with-secrets.sh", "sh", "-c", "exit 7").returncode == 7


def test_a_missing_secret_stops_with_its_name_and_the_next_step(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    done = _run("with-secrets.sh", "true", PREFECT_SERVER_DATABASE_PASSWORD_FILE=missing)
    assert done.returncode == 78
    assert "PREFECT_SERVER_DATABASE_PASSWORD_FILE" in done.stderr
    assert str(missing) in done.stderr
    assert "create-secrets.sh" in done.stderr


def test_an_empty_secret_stops(tmp_path: Path) -> None:
    done = _with_secret(tmp_path, "\n", "true")
    assert done.returncode == 78
    assert "is empty" in done.stderr


def test_no_command_stops_with_the_usage() -> None:
    done = _run("with-secrets.sh")
    assert done.returncode == 78
    assert "usage" in done.stderr


def test_every_secret_of_the_compose_file_is_read_by_someone(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("deaps:abc")
    for service in read_compose()["services"].values():
        names = [name for name in service.get("environment", {}) if name.endswith("_FILE")]
        if service["image"].startswith("deaps:"):
            for name in names:
                done = _run(
                    "with-secrets.sh", "printenv", name.removesuffix("_FILE"), **{name: file}
                )
                assert done.stdout == "deaps:abc\n"


def test_the_secrets_of_the_compose_file_are_created(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    assert _run("create-secrets.sh", str(folder)).returncode == 0
    expected = {Path(secret["file"]).name for secret in read_compose()["secrets"].values()}
    assert {path.name for path in folder.iterdir()} == expected
    user, _, password = (folder / "prefect_auth.txt").read_text().strip().partition(":")
    assert user == "deaps"
    assert len(password) == 48
    assert password != (folder / "postgres_password.txt").read_text().strip()


def test_only_the_owner_reaches_secrets_and_every_container_reads_them(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    _run("create-secrets.sh", str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}


def test_secrets_that_are_there_are_kept(tmp_path: Path) -> None:
    _run("create-secrets.sh", str(tmp_path))
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    done = _run("create-secrets.sh", str(tmp_path))
    assert done.stdout.count("is there already") == 2
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(ANSWERS[self.path])
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_service_that_answers_is_healthy(address: str) -> None:
    # A proxy in the environment must not be asked for the container's own address.
    done = _run("healthy.sh", HEALTH_URL=f"{address}/well", http_proxy="http://127.0.0.1:9")
    assert done.returncode == 0


def test_a_service_that_complains_or_is_silent_is_not_healthy(address: str) -> None:
    assert _run("healthy.sh", HEALTH_URL=f"{address}/ill").returncode == 1
    done = _run("healthy.sh", HEALTH_URL="http://127.0.0.1:9/")
    assert done.returncode == 1
    assert done.stderr.startswith("http://127.0.0.1:9/: ")


def test_deploy_applies_the_file_of_the_folder(tmp_path: Path) -> None:
    """A stand-in for the deaps command notes how it is called."""
    log, stand_in = tmp_path / "calls", tmp_path / "bin" / "deaps"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\necho "$*" >>{log}\n')
    stand_in.chmod(0o755)
    done = _run("deploy.sh", str(tmp_path), PATH=f"{stand_in.parent}:{os.environ['PATH']}")
    assert done.returncode == 0
    assert log.read_text() == f"deploy --file {tmp_path}/prefect.yaml\n"
