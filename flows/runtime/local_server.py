"""Prefect's server for this machine alone: ``python -m flows.runtime.local_server PORT``.

Prefect answers any page of any site: it allows every origin, takes any Host, and asks for no
password. A page could so change what a deployment runs. This server asks for a password
(``PREFECT_SERVER_API_AUTH_STRING``), and answers requests under this machine's own names alone,
and of pages only those that come from its own pages.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from flows.runtime.server_address import withdraw_dead_serve

HOST = "127.0.0.1"
OWN_NAMES = frozenset({HOST, "localhost", "[::1]"})

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


def server_environment(password: str) -> dict[str, str]:
    """Return Prefect's settings of a server that is started here."""
    return {
        "PREFECT_SERVER_API_AUTH_STRING": password,
        # Nobody else's page may read an answer; its own need no permission.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://{HOST}",
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        # Relative: the page asks whichever address it came from, through any tunnel.
        "PREFECT_SERVER_UI_API_URL": "/api",
    }


def is_own_request(host: str | None, origin: str | None) -> bool:
    """Return whether a request is for this machine's name, and of no page or of its own pages.

    The port may be that of a tunnel. A page of another port is another's.
    """
    name = re.sub(r":\d+$", "", host or "")
    return name in OWN_NAMES and origin in (None, f"http://{host}")


class OwnPagesOnly:
    """An ASGI application that refuses requests of other pages and under other names."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if is_own_request(headers.get(b"host"), headers.get(b"origin")):
            return await self.app(scope, receive, send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        kind = (b"content-type", b"text/plain")
        await send({"type": "http.response.start", "status": 403, "headers": [kind]})
        await send({"type": "http.response.body", "body": b"not from here\n"})
        return None


def main() -> None:
    """Serve until SIGTERM; then take back what a killed ``deaps serve`` has published."""
    import uvicorn
    from prefect.server.api.server import create_app

    # uvicorn raises the signal again when it has ended, which would end us before our last word.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    prefect: Any = create_app(final=True)
    app: Any = OwnPagesOnly(prefect)
    try:
        uvicorn.run(app, host=HOST, port=int(sys.argv[1]), log_level="warning")
    finally:
        withdraw_dead_serve()


if __name__ == "__main__":
    main()
