"""Workers that a Prefect server has heard of lately, asked without importing Prefect."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flows.runtime.server_address import named_password, named_server

_PATIENCE_S = 3
_CLIENT = "deaps-status"


def live_workers() -> dict[str, list[str]] | None:
    """Return the names of live workers by work pool; None if no server is named or answers."""
    if (url := named_server()) is None:
        return None
    try:
        headers = _headers(url)
        pools = [pool["name"] for pool in _ask(f"{url}/work_pools/filter", headers, b"{}")]
        return {pool: _of_pool(url, pool, headers) for pool in sorted(pools)}
    except (OSError, ValueError, KeyError):  # a server is only looked at, never needed
        return None


def _of_pool(url: str, pool: str, headers: Mapping[str, str]) -> list[str]:
    workers = _ask(f"{url}/work_pools/{pool}/workers/filter", headers, b"{}")
    return sorted(worker["name"] for worker in workers if worker["status"] == "ONLINE")


def _headers(url: str) -> dict[str, str]:
    """Return what the server asks for: a password, and a token against forged requests."""
    headers = {"content-type": "application/json"}
    if password := named_password():
        headers["authorization"] = f"Basic {base64.b64encode(password.encode()).decode()}"
    try:
        given = _ask(f"{url}/csrf-token?client={_CLIENT}", headers)
    except urllib.error.HTTPError as error:
        if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise
        return headers  # it has no such protection
    return headers | {"Prefect-Csrf-Client": _CLIENT, "Prefect-Csrf-Token": given["token"]}


def _ask(url: str, headers: Mapping[str, str], data: bytes | None = None) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url} is no web address")
    request = urllib.request.Request(url, data, dict(headers))  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:  # noqa: S310 - as above
        return json.load(answer)
