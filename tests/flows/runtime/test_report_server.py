"""Reports over HTTP, for this machine alone."""

from __future__ import annotations

import http.client
import urllib.request
from pathlib import Path

import pytest

from flows.config import load_settings
from flows.report import link_report, served_reports, serving_reports


def page_in(store: Path) -> Path:
    page = store / "reports" / "r1" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>the report</p>")
    return page


def test_a_report_is_served_while_the_block_runs(tmp_path: Path) -> None:
    page_in(tmp_path)
    (tmp_path / "secret").write_text("not for the web")
    with serving_reports(tmp_path, 0) as url:
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}/r1/index.html") as answer:
            assert answer.read() == b"<p>the report</p>"
        assert status(url, "/../secret") == 404
        assert served_reports(tmp_path) == url
        assert served_reports(tmp_path / "another") is None
    assert served_reports(tmp_path) is None


def test_a_request_under_another_name_is_refused(tmp_path: Path) -> None:
    page_in(tmp_path)
    with serving_reports(tmp_path, 0) as url:
        assert status(url, "/r1/index.html", host="evil.example:80") == 403


def test_a_name_that_no_file_can_have_is_not_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving_reports(tmp_path, 0) as url:
        assert status(url, "/%00") == 404
        assert status(url, "/r1/%00index.html") == 404
    assert "Traceback" not in capsys.readouterr().err


def test_a_port_that_is_taken_is_left_for_another(tmp_path: Path) -> None:
    with serving_reports(tmp_path / "a", 0) as first:
        port = int(first.rpartition(":")[2])
        with serving_reports(tmp_path / "b", port) as second:
            assert second != first


def test_the_link_in_prefects_pages_leads_there(tmp_path: Path, monkeypatch: object) -> None:
    links: list[str] = []
    monkeypatch.setattr(  # type: ignore[attr-defined]
        "flows.report.publish_link", lambda url, **_: links.append(url)
    )
    settings, page = load_settings(overrides=[f"store.root={tmp_path}"]), page_in(tmp_path)
    with serving_reports(tmp_path, 0) as url:
        link_report(settings, page)
    assert links == [f"{url}/r1/index.html"]


def status(url: str, path: str, host: str | None = None) -> int:
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse().status
    connection.close()
    return answer
