"""The report stage: the page of an evaluation, and a link to it in Prefect's pages."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from flows.config import Settings
from flows.experiment.state import find_evaluation, write_page
from flows.runtime.local_server import HOST, is_own_request
from flows.runtime.prefect_glue import publish_link
from storage.files import REPORTS_FOLDER, resolve_root


def report(settings: Settings, name: str | None = None) -> Path:
    """Write the page of an evaluation, by default the newest, unless it is there; link it."""
    page = write_page(find_evaluation(settings.store.root, name)).resolve()
    link_report(settings, page)
    return page


def link_report(settings: Settings, page: Path) -> None:
    """Publish a link to the report in Prefect's pages."""
    served = settings.execution.reports_url or served_reports(settings.store.root)
    publish_link(
        f"{served.rstrip('/')}/{page.parent.name}/{page.name}"
        if served
        else page.resolve().as_uri(),
        key="report",
        text=f"report {page.parent.name}",
        description=f"On the machine that wrote it: {page}",
    )


URL_VARIABLE = "DEAPS_REPORTS_URL"
STORE_VARIABLE = "DEAPS_REPORTS_STORE"


class _ReportHandler(SimpleHTTPRequestHandler):
    """Serves files below the reports; says nothing, and answers only to this machine's names."""

    def send_head(self) -> Any:
        """Refuse a request under another name, or from another page: both may be anybody's."""
        if not is_own_request(self.headers.get("Host"), self.headers.get("Origin")):
            self.send_error(HTTPStatus.FORBIDDEN, "unknown host")
            return None
        try:
            return super().send_head()
        except ValueError:  # no file has such a name: a zero byte is in it
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Keep quiet: the terminal is for flows."""


@contextmanager
def serving_reports(store: Path, port: int) -> Iterator[str]:
    """Serve the store's reports while the block runs; yield their address.

    Flow runs that start meanwhile find the address in their environment. Another free port is
    taken if ``port`` is not free.
    """
    folder = resolve_root(store) / REPORTS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    server = _bind(partial(_ReportHandler, directory=str(folder)), port)
    url = f"http://{HOST}:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ[URL_VARIABLE], os.environ[STORE_VARIABLE] = url, str(resolve_root(store))
    try:
        yield url
    finally:
        for name in (URL_VARIABLE, STORE_VARIABLE):
            os.environ.pop(name, None)
        server.shutdown()
        server.server_close()


def served_reports(store: Path) -> str | None:
    """Return where ``deaps serve`` serves the reports of this store, None if it does not."""
    is_served = os.environ.get(STORE_VARIABLE) == str(resolve_root(store))
    return os.environ.get(URL_VARIABLE) if is_served else None


def _bind(handler: Any, port: int) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer((HOST, port), handler)
    except OSError:  # taken
        return ThreadingHTTPServer((HOST, 0), handler)
