"""The part of the Compose specification that the compose file uses.

https://github.com/compose-spec/compose-spec/blob/main/spec.md. Compose itself is not needed.
A shape is a type, a pattern for text, a list with the shape of the items, a mapping of the
known keys (``*``: any key), or a tuple of shapes of which one fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Shape = Any

DURATION = re.compile(r"(\d+(h|ms|m|s))+")
BYTES = re.compile(r"\d+(b|k|kb|m|mb|g|gb)")
NUMBER = re.compile(r"\d+(\.\d+)?")
NAMED: Shape = {"*": str}

VOLUME: Shape = {
    "type": re.compile("bind|volume|tmpfs"),
    "source": str,
    "target": str,
    "read_only": bool,
    "bind": {"create_host_path": bool},
}
DEVICE: Shape = {"driver": str, "count": re.compile(r"\d+|all"), "capabilities": [str]}
RESOURCES: Shape = {
    "limits": {"cpus": NUMBER, "memory": BYTES, "pids": int},
    "reservations": {"cpus": NUMBER, "memory": BYTES, "devices": [DEVICE]},
}
HEALTHCHECK: Shape = {
    "test": [str],
    "disable": bool,
    "interval": DURATION,
    "timeout": DURATION,
    "start_period": DURATION,
    "retries": int,
}
CONDITION = re.compile("service_(started|healthy|completed_successfully)")
SERVICE: Shape = {
    "image": str,
    "pull_policy": re.compile("always|never|missing|build"),
    "build": {"context": str, "dockerfile": str, "args": NAMED},
    "profiles": [str],
    "entrypoint": [str],
    "command": [str],
    "environment": NAMED,
    "secrets": [str],
    "volumes": [(str, VOLUME)],
    "tmpfs": [str],
    "shm_size": BYTES,
    "user": str,
    "read_only": bool,
    "init": bool,
    "cap_drop": [str],
    "security_opt": [str],
    "networks": [str],
    "ports": [re.compile(r"[\d.]+:\d+:\d+")],
    "depends_on": {"*": {"condition": CONDITION}},
    "healthcheck": HEALTHCHECK,
    "restart": re.compile(r"no|always|unless-stopped|on-failure(:\d+)?"),
    "stop_grace_period": DURATION,
    "logging": {"driver": str, "options": NAMED},
    "deploy": {"replicas": (int, NUMBER), "resources": RESOURCES},
}
FILE: Shape = {
    "name": re.compile("[a-z0-9][a-z0-9_-]*"),
    "services": {"*": SERVICE},
    "networks": {"*": {"internal": bool}},
    "volumes": {"*": {"driver": str, "driver_opts": NAMED}},
    "secrets": {"*": {"file": str}},
}


def problems(value: Any, shape: Shape, where: str = "compose.yaml") -> Iterator[str]:
    """Yield what does not fit, with its place."""
    if isinstance(shape, tuple):
        if all(any(problems(value, one, where)) for one in shape):
            yield f"{where}: {value!r} fits none of the forms"
    elif isinstance(shape, type):
        if type(value) is not shape:
            yield f"{where}: {value!r} is not {shape.__name__}"
    elif isinstance(shape, re.Pattern):
        if not (isinstance(value, str) and shape.fullmatch(value)):
            yield f"{where}: {value!r} is not {shape.pattern}"
    elif isinstance(shape, list):
        yield from _in_list(value, shape[0], where)
    else:
        yield from _in_mapping(value, shape, where)


def _in_list(value: Any, item: Shape, where: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{where}: {value!r} is not a list"
        return
    for number, part in enumerate(value):
        yield from problems(part, item, f"{where}[{number}]")


def _in_mapping(value: Any, keys: dict[str, Shape], where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is not a mapping"
        return
    for key, part in value.items():
        if key not in keys and "*" not in keys:
            yield f"{where}: unknown key {key!r}; known: {', '.join(keys)}"
        else:
            yield from problems(part, keys.get(key, keys.get("*")), f"{where}.{key}")
