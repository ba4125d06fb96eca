"""Which Prefect server is named, asked without Prefect: importing it takes a second."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

_VARIABLE = "PREFECT_API_URL"


def named_server() -> str | None:
    """Return the address of the server that Prefect would use, None if it would start its own.

    Looks where Prefect does: the environment, ``prefect.toml`` here, the active profile.
    """
    project = _read(Path("prefect.toml"))
    address = os.environ.get(_VARIABLE) or project.get("api", {}).get("url")
    return address or _of_profile(_home(project))


def _home(project: dict[str, Any]) -> Path:
    home = os.environ.get("PREFECT_HOME") or project.get("home") or "~/.prefect"
    return Path(home).expanduser()


def _of_profile(home: Path) -> str | None:
    path = os.environ.get("PREFECT_PROFILES_PATH")
    values = _read(Path(path) if path else home / "profiles.toml")
    name = os.environ.get("PREFECT_PROFILE") or values.get("active")
    profile: dict[str, str] = values.get("profiles", {}).get(name, {})
    return profile.get(_VARIABLE)


def _read(path: Path) -> dict[str, Any]:
    """Return a TOML file's content; one that is not there or not TOML is Prefect's concern."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
