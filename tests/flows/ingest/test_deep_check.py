"""The deep check against the data sets: what is missing in the index, and names that it says."""

from __future__ import annotations

from pathlib import Path

from flows.ingest.summary import check_deeply
from storage.publish import republish
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for
from tests.planted_identities import FIRST_NAME, identified


def test_store_that_is_up_to_date_has_no_findings(tmp_path: Path) -> None:
    identified(write_edf(tmp_path / "in" / "a.edf", {"ECG": beats(25)}))
    settings = settings_for(tmp_path / "store", folder=tmp_path / "in")
    run(settings)
    assert list(check_deeply(settings)) == []


def test_recording_that_is_not_in_the_index_is_found(tmp_path: Path) -> None:
    write_edf(tmp_path / "in" / "a.edf", {"ECG": beats(25)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "in")
    run(settings)
    write_edf(tmp_path / "in" / "b.edf", {"ECG": beats(25, seed=1)})
    assert [finding.kind for finding in check_deeply(settings)] == ["I4"]


def test_name_of_a_header_in_a_report_is_found_and_not_quoted(tmp_path: Path) -> None:
    identified(write_edf(tmp_path / "in" / "a.edf", {"ECG": beats(25)}))
    settings = settings_for(tmp_path / "store", folder=tmp_path / "in")
    run(settings)
    page = tmp_path / "store" / "reports" / "x" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f"<p>seen: {FIRST_NAME}</p>")
    republish(tmp_path / "store")
    (finding,) = check_deeply(settings)
    assert (finding.kind, finding.path) == ("I12", "reports/x/index.html")
    assert FIRST_NAME.lower() not in finding.message.lower()
