"""Workers that a Prefect server has heard of lately, asked without importing Prefect."""

from __future__ import annotations

import base64
import json
import urllib.request
from typing import Any

from flows.runtime.server_address import named_password, named_server

_PATIENCE_S = 3


def live_workers() -> dict[str, list[str]] | None:
    """Return the names of live workers by work pool; None if no server is named or answers."""
    if (url := named_server()) is None:
        return None
    try:
        pools = [pool["name"] for pool in _ask(f"{url}/work_pools/filter")]
        return {pool: _of_pool(url, pool) for pool in sorted(pools)}
    except (OSError, ValueError, KeyError):  # a server is only looked at, never needed
        return None


def _of_pool(url: str, pool: str) -> list[str]:
    workers = _ask(f"{url}/work_pools/{pool}/workers/filter")
    return sorted(worker["name"] for worker in workers if worker["status"] == "ONLINE")


def _ask(url: str) -> list[dict[str, Any]]:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url} is no web address")
    headers = {"content-type": "application/json"}
    if auth := named_password():
        headers["authorization"] = f"Basic {base64.b64encode(auth.encode()).decode()}"
    request = urllib.request.Request(url, b"{}", headers)  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:  # noqa: S310 - as above
        rows: list[dict[str, Any]] = json.load(answer)
    return rows
