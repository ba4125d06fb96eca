"""How commands find the server of ``deaps serve``, and what a killed one leaves."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flows.runtime.server_address import (
    named_password,
    named_server,
    own_password,
    password_file,
    publish_server,
    registered_serve,
    running_serve,
)
from storage.errors import DeapsError

THEIRS = '[profiles.lab]\nPREFECT_API_URL = "http://lab:4200/api"\n'


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Be in a project folder, in a shell without a setting of Prefect."""
    for name in ("API_URL", "API_AUTH_STRING", "HOME", "PROFILE", "PROFILES_PATH"):
        monkeypatch.delenv(f"PREFECT_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prefect.toml").write_text(
        'home = ".prefect"\nprofiles_path = ".prefect/profiles.toml"\n'
    )
    return tmp_path


def profiles(folder: Path) -> Path:
    return folder / ".prefect/profiles.toml"


def test_a_published_server_is_found_with_its_password_until_serve_ends(folder: Path) -> None:
    with registered_serve():
        publish_server("http://127.0.0.1:4200", own_password())
        assert named_server() == "http://127.0.0.1:4200/api"
        assert named_password() == own_password()
    assert named_server() is None
    assert not profiles(folder).exists()
    assert running_serve() is None


def test_files_with_the_password_are_for_their_owner_alone(folder: Path) -> None:
    with registered_serve():
        publish_server("http://127.0.0.1:4200", own_password())
        for path in (profiles(folder), password_file()):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    password_file().chmod(0o644)
    assert own_password() == own_password()
    assert stat.S_IMODE(password_file().stat().st_mode) == 0o600


@pytest.mark.parametrize("active", ['active = "lab"\n', ""])
def test_profiles_of_the_user_are_kept(folder: Path, active: str) -> None:
    profiles(folder).parent.mkdir()
    profiles(folder).write_text(active + THEIRS)
    before = named_server()
    with registered_serve():
        publish_server("http://127.0.0.1:4200", "a:b")
        assert named_server() == "http://127.0.0.1:4200/api"
        content = tomllib.loads(profiles(folder).read_text())
        assert content["profiles"]["lab"] == {"PREFECT_API_URL": "http://lab:4200/api"}
    assert tomllib.loads(profiles(folder).read_text()) == tomllib.loads(active + THEIRS)
    assert named_server() == before


def test_what_a_killed_serve_has_published_is_taken_back(folder: Path) -> None:
    profiles(folder).parent.mkdir()
    profiles(folder).write_text('active = "lab"\n' + THEIRS)
    code = (
        "import os, signal\n"
        "from flows.runtime.server_address import publish_server, registered_serve\n"
        "with registered_serve():\n"
        "    publish_server('http://127.0.0.1:4200', 'a:b')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, cwd=folder)
    assert 'active = "deaps-serve"' in profiles(folder).read_text()
    assert running_serve() is None
    assert named_server() == "http://lab:4200/api"
    assert tomllib.loads(profiles(folder).read_text()) == tomllib.loads('active = "lab"\n' + THEIRS)


def test_a_second_serve_names_the_first(folder: Path) -> None:
    code = (
        "from flows.runtime.server_address import publish_server, registered_serve\n"
        "with registered_serve():\n"
        "    publish_server('http://127.0.0.1:4299', 'a:b')\n"
        "    print('ready', flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with (
            pytest.raises(DeapsError, match=f"process {first.pid} at http://127.0.0.1:4299"),
            registered_serve(),
        ):
            raise AssertionError
        assert named_server() == "http://127.0.0.1:4299/api"
        first.communicate(b"\n")
    with registered_serve():
        pass


def test_a_pid_that_another_process_has_now_is_no_serve(folder: Path) -> None:
    with registered_serve():
        note = folder / ".prefect/serve.json"
        content = json.loads(note.read_text())
    note.write_text(json.dumps(content | {"started": content["started"] - 100}))
    assert running_serve() is None
