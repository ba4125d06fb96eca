"""Which Prefect server commands use, and how to reach the one of ``deaps serve``.

Asked without Prefect: importing it takes a second. ``deaps serve`` publishes its server's address
and password as the active profile in Prefect's home, where the bare ``prefect`` command finds them,
and notes who it is in ``serve.json`` next to it. Both files are for their owner alone.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from storage.errors import DeapsError
from storage.files import replacing
from storage.locks import start_time

URL_VARIABLE = "PREFECT_API_URL"
AUTH_VARIABLE = "PREFECT_API_AUTH_STRING"
_PROFILE = "deaps-serve"
_NOTE_NAME, _PASSWORD_NAME, _PROFILES_NAME = "serve.json", "password.txt", "profiles.toml"


class RunningServe(NamedTuple):
    """A ``deaps serve`` of this folder; its address is empty while it starts."""

    pid: int
    address: str


def named_server() -> str | None:
    """Return the API address of the server that Prefect would use, None if it names none.

    Looks where Prefect does: the environment, ``prefect.toml`` here, the active profile.
    """
    return _setting(URL_VARIABLE, "url")


def named_password() -> str | None:
    """Return what the named server asks for, ``user:password``; None if nothing is set."""
    return _setting(AUTH_VARIABLE, "auth_string")


def own_password() -> str:
    """Return the password of servers that are started here; it is made once."""
    path = password_file()
    with suppress(FileNotFoundError):
        path.chmod(0o600)
        if password := path.read_text(encoding="ascii").strip():
            return password
    _write_private(path, f"deaps:{secrets.token_hex(24)}\n")
    return own_password()


def password_file() -> Path:
    """Return where `own_password` is kept."""
    return prefect_home() / _PASSWORD_NAME


def running_serve() -> RunningServe | None:
    """Return the ``deaps serve`` that runs in this folder, None if there is none."""
    note = _note()
    return RunningServe(note["pid"], note["address"]) if _is_alive(note) else None


@contextmanager
def registered_serve() -> Iterator[None]:
    """Note that this process is the one ``deaps serve`` here, until the block ends.

    Raises
    ------
    DeapsError
        If there is another.
    """
    if (other := running_serve()) is not None and other.pid != os.getpid():
        where = f" at {other.address}" if other.address else ""
        raise DeapsError(
            f"deaps serve runs here already: process {other.pid}{where}; use it, or end it first"
        )
    withdraw_dead_serve()
    _write_note("", "")
    try:
        yield
    finally:
        _withdraw()


def publish_server(address: str, password: str) -> None:
    """Let every command of this folder find the server of this ``deaps serve``."""
    profiles = _read(_profiles_path())
    _write_note(address, profiles.get("active", ""))
    ours = {URL_VARIABLE: f"{address}/api", AUTH_VARIABLE: password, "PREFECT_UI_URL": address}
    others = profiles.get("profiles", {})
    _write_profiles({"active": _PROFILE, "profiles": others | {_PROFILE: ours}})


def withdraw_dead_serve() -> None:
    """Remove what a ``deaps serve`` that was killed has left: its server is gone, too."""
    note = _note()
    if note and not _is_alive(note):
        _withdraw()


def prefect_home() -> Path:
    """Return the folder where Prefect keeps its database here."""
    home = os.environ.get("PREFECT_HOME") or _read(Path("prefect.toml")).get("home")
    return Path(home or "~/.prefect").expanduser()


def _setting(variable: str, name: str) -> str | None:
    """Return a setting of the API from the first place where Prefect would find it."""
    project = _read(Path("prefect.toml"))
    found = os.environ.get(variable) or project.get("api", {}).get(name)
    if found:
        return str(found)
    withdraw_dead_serve()
    profiles = _read(_profiles_path())
    active = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    profile: dict[str, str] = profiles.get("profiles", {}).get(active, {})
    return profile.get(variable)


def _withdraw() -> None:
    note, profiles = _note(), _read(_profiles_path())
    kept = {name: v for name, v in profiles.get("profiles", {}).items() if name != _PROFILE}
    if _PROFILE in profiles.get("profiles", {}):
        active = profiles.get("active")
        before = note.get("active_before", "") if active == _PROFILE else active
        if kept:
            named = {"active": before} if before else {}
            _write_profiles({**named, "profiles": kept})
        else:
            _profiles_path().unlink(missing_ok=True)
    (prefect_home() / _NOTE_NAME).unlink(missing_ok=True)


def _write_profiles(content: dict[str, Any]) -> None:
    import tomli_w

    _write_private(_profiles_path(), tomli_w.dumps(content))


def _write_note(address: str, active_before: str) -> None:
    pid = os.getpid()
    note = {
        "pid": pid, "started": start_time(pid), "host": socket.gethostname(),
        "address": address, "active_before": active_before if active_before != _PROFILE else "",
    }  # fmt: skip
    _write_private(prefect_home() / _NOTE_NAME, json.dumps(note))


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.touch(mode=0o600)
        temporary.write_text(text, encoding="utf-8")


def _note() -> dict[str, Any]:
    try:
        note: dict[str, Any] = json.loads((prefect_home() / _NOTE_NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return note


def _is_alive(note: dict[str, Any]) -> bool:
    if not note or note["host"] != socket.gethostname():
        return False
    return note["started"] is not None and note["started"] == start_time(note["pid"])


def _profiles_path() -> Path:
    """Return the file of profiles that Prefect reads; ``prefect.toml`` beats ``PREFECT_HOME``."""
    project = _read(Path("prefect.toml"))
    path = os.environ.get("PREFECT_PROFILES_PATH") or project.get("profiles_path")
    home = os.environ.get("PREFECT_HOME") or "~/.prefect"
    return Path(path or f"{home}/{_PROFILES_NAME}").expanduser()


def _read(path: Path) -> dict[str, Any]:
    """Return a TOML file's content; one that is not there or not TOML is Prefect's concern."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
