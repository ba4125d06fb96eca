"""The compose file as Compose sees it: merged, and with its variables put in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = DOCKER / "compose.yaml"

# ${NAME} and ${NAME:-default}: the forms that the file uses.
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


def read_compose(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the compose file without its ``x-`` parts."""
    given = variables or {}

    def value(match: re.Match[str]) -> str:
        return given.get(match["name"]) or match["default"] or ""

    content = _each_text(yaml.safe_load(COMPOSE.read_text()), lambda t: VARIABLE.sub(value, t))
    return {key: part for key, part in content.items() if not key.startswith("x-")}


def volumes(service: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return source and read-onlyness of a service's volumes, by path in the container."""
    mounted = {}
    for volume in service.get("volumes", []):
        if isinstance(volume, str):
            source, target, *mode = volume.split(":")
            mounted[target] = (source, mode == ["ro"])
        else:
            mounted[volume["target"]] = (volume["source"], volume.get("read_only", False))
    return mounted


def _each_text(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {key: _each_text(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_each_text(part, change) for part in value]
    return change(value) if isinstance(value, str) else value
