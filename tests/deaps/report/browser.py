"""Chromium without a window, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_STARTING_S = 60
_ANSWERING_S = 60
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Tab:
    """One open page, and what it has written to the console."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._calls = 0
        self._events: list[dict[str, Any]] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer to one command; events that come meanwhile are kept."""
        self._calls += 1
        self._connection.send(json.dumps({"id": self._calls, "method": method, "params": params}))
        while True:
            message = self._receive()
            if message.get("id") != self._calls:
                self._events.append(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def open(self, path: Path) -> None:
        """Load a file and wait until it is drawn."""
        self._events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._receive())
        self.evaluate(_TWO_FRAMES)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def problems(self) -> list[str]:
        """Return errors and warnings of the console, and exceptions, since the page was opened."""
        self.evaluate("0")
        return [text for event in self._events if (text := _problem(event))]

    def requests(self) -> list[str]:
        """Return what the page has asked for since it was opened, itself included."""
        self.evaluate("0")
        sent = (e for e in self._events if e["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def picture(self, first: str, last: str, *, margin: int = 24) -> bytes:
        """Return the page from one element to another as PNG, in its whole width."""
        box = "document.querySelector({!r}).getBoundingClientRect().{}"
        top = self.evaluate(box.format(first, "top")) + self.evaluate("scrollY") - margin
        bottom = self.evaluate(box.format(last, "bottom")) + self.evaluate("scrollY") + margin
        clip = {
            "x": 0,
            "y": max(0, top),
            "width": self.evaluate("innerWidth"),
            "height": bottom - max(0, top),
            "scale": 1,
        }
        answer = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def set_screen(self, width: int, height: int, *, phone: bool = False) -> None:
        """Take the size of a screen."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )

    def set_theme(self, scheme: str) -> None:
        """Prefer ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse to a place in the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def _receive(self) -> dict[str, Any]:
        return json.loads(self._connection.recv(timeout=_ANSWERING_S))


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Tab]:
    """Give an empty tab of a new browser whose profile is in ``folder``."""
    arguments = [
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",  # containers run as root, where there is no sandbox
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        "about:blank",
    ]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        with connect(_tab_address(folder, process), max_size=None) as connection:
            yield Tab(connection)
    finally:
        process.terminate()
        process.wait(timeout=_STARTING_S)


def _tab_address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the first tab, which the browser announces in its profile."""
    announced = folder / "DevToolsActivePort"
    deadline = time.monotonic() + _STARTING_S
    while not (announced.exists() and announced.read_text().count("\n")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError((folder / "browser.log").read_text(errors="replace")[-2000:])
        time.sleep(0.05)
    port, path = announced.read_text().splitlines()
    root = f"ws://127.0.0.1:{port}"
    with connect(root + path) as connection:
        browser = Tab(connection)
        targets = browser.call("Target.getTargets")["targetInfos"]
    page = next(target for target in targets if target["type"] == "page")
    return f"{root}/devtools/page/{page['targetId']}"


def _problem(event: dict[str, Any]) -> str | None:
    params = event.get("params", {})
    if event["method"] == "Runtime.exceptionThrown":
        return str(params["exceptionDetails"])
    if event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
        return str(params["args"])
    if event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return str(params["entry"])
    return None
