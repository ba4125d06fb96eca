"""Odd names and links: every recording is indexed once, and links are accounted for."""

from __future__ import annotations

import os
from pathlib import Path

from flows.config import Settings
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for


def stored(settings: Settings) -> list[tuple[str, str]]:
    run(settings)
    return ask(settings, "SELECT name, status FROM recordings ORDER BY name")


def warnings(settings: Settings) -> str:
    return str(ask(settings, "SELECT warnings FROM datasets"))


def test_names_that_print_alike_are_two_recordings(tmp_path: Path) -> None:
    for seed, name in enumerate((b"night\xff.edf", b"night\\xff.edf")):
        path = write_edf(tmp_path / "made.edf", {"ECG": beats(25, seed=seed)})
        (tmp_path / "in").mkdir(exist_ok=True)
        path.rename(tmp_path / "in" / os.fsdecode(name))
    settings = settings_for(tmp_path / "store", folder=tmp_path / "in")
    names = stored(settings)
    assert [status for _, status in names] == ["ok", "ok"]
    assert len({name for name, _ in names}) == 2
    assert "1 recordings have the name of another" in warnings(settings)
    assert stored(settings) == names


def test_names_that_differ_in_the_case_of_their_ending_are_two_recordings(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "shhs1"
    write_edf(folder / "shhs1-1.edf", {"ECG": beats(25)})
    write_edf(folder / "shhs1-1.EDF", {"ECG": beats(25, seed=1)})
    assert len(stored(settings_for(tmp_path / "store", shhs=tmp_path / "in"))) == 2


def test_link_before_its_target_leaves_the_original(tmp_path: Path) -> None:
    original = write_edf(tmp_path / "in" / "night.edf", {"ECG": beats(25)})
    (tmp_path / "in" / "a-link.edf").symlink_to(original)
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in" / "sub")
    write_edf(tmp_path / "in" / "sub" / "other.edf", {"ECG": beats(25, seed=1)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "in")
    assert stored(settings) == [("night.edf", "ok"), ("sub/other.edf", "ok")]
    assert "2 links lead to recordings that are read themselves: left out" in warnings(settings)


def test_link_to_a_file_elsewhere_is_read(tmp_path: Path) -> None:
    original = write_edf(tmp_path / "elsewhere" / "night.edf", {"ECG": beats(25)})
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.edf").symlink_to(original)
    assert stored(settings_for(tmp_path / "store", folder=tmp_path / "in")) == [("link.edf", "ok")]


def test_dangling_links_are_counted_and_shown(tmp_path: Path) -> None:
    write_edf(tmp_path / "in" / "night.edf", {"ECG": beats(25)})
    for name in ("a.edf", "b.edf"):
        (tmp_path / "in" / name).symlink_to(tmp_path / "gone")
    settings = settings_for(tmp_path / "store", folder=tmp_path / "in")
    assert stored(settings) == [("night.edf", "ok")]
    assert "2 links lead nowhere" in warnings(settings)
