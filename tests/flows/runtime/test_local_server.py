"""Who gets an answer of a server that is started here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flows.runtime.local_server import OwnPagesOnly, is_own_request


@pytest.mark.parametrize(
    ("host", "origin", "is_own"),
    [
        ("127.0.0.1:4200", None, True),
        ("localhost:4200", None, True),
        ("localhost", "http://localhost", True),
        ("[::1]:4200", "http://[::1]:4200", True),
        ("localhost:8080", "http://localhost:8080", True),  # through a tunnel
        ("127.0.0.1:4200", "http://127.0.0.1:4200", True),
        ("127.0.0.1:4200", "http://localhost:4200", False),
        ("127.0.0.1:4200", "http://127.0.0.1:8000", False),
        ("127.0.0.1:4200", "https://127.0.0.1:4200", False),
        ("127.0.0.1:4200", "null", False),
        ("127.0.0.1:4200", "http://evil.example", False),
        ("evil.example:4200", "http://evil.example:4200", False),  # its name was pointed here
        ("evil.example", None, False),
        ("localhost.evil.example:4200", None, False),
        ("127.0.0.1:4200@evil", None, False),
        ("", None, False),
        (None, None, False),
    ],
)
def test_own_pages_and_clients_alone_are_answered(
    host: str | None, origin: str | None, is_own: bool
) -> None:
    assert is_own_request(host, origin) is is_own


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("origin", "passes"), [(b"http://localhost:1", True), (b"http://x", False)]
)
def test_requests_and_sockets_of_other_pages_reach_nothing(
    kind: str, origin: bytes, passes: bool
) -> None:
    reached: list[str] = []
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["type"])

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> None:
        """Nothing comes."""

    scope = {"type": kind, "headers": [(b"host", b"localhost:1"), (b"origin", origin)]}
    asyncio.run(OwnPagesOnly(app)(scope, receive, send))
    assert bool(reached) is passes
    assert [message.get("status", message.get("code")) for message in sent] == (
        [] if passes else [403, None] if kind == "http" else [1008]
    )
