"""Links in a data set: followed, never in circles, and never to the outside unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.ingest.scan import DatasetScan, scan
from preprocessing.datasets.walk import accounting_links, list_files, list_folders
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with one recording of its own."""
    write_edf(tmp_path / "root" / "own.edf", {"ECG": beats(20)})
    return tmp_path / "root"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder outside the root, with another recording."""
    write_edf(tmp_path / "elsewhere" / "far.edf", {"ECG": beats(20, seed=1)})
    return tmp_path / "elsewhere"


def scanned(root: Path, **others: Path) -> DatasetScan:
    settings = settings_for(root.parent / "store", folder=root, **others)
    return scan(settings, ["folder"]).datasets[0]


def test_root_without_links_has_no_warnings(root: Path) -> None:
    assert scanned(root).warnings == ()


def test_linked_folder_outside_is_followed_and_said(root: Path, elsewhere: Path) -> None:
    (root / "sub").symlink_to(elsewhere)
    found = scanned(root)
    assert list(found.recordings) == ["own.edf", "sub/far.edf"]
    assert found.warnings == (f"1 link leads outside the data roots, to {elsewhere} (1): followed",)


def test_linked_file_outside_is_followed_and_said(root: Path, elsewhere: Path) -> None:
    for name in ("a.edf", "b.edf"):
        (root / name).symlink_to(elsewhere / "far.edf")
    found = scanned(root)
    assert list(found.recordings) == ["a.edf", "b.edf", "own.edf"]
    assert found.warnings == (f"2 links lead outside the data roots, to {elsewhere} (2): followed",)


def test_links_to_recordings_of_the_same_root_are_left_out_and_counted(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "file.edf").symlink_to(root / "own.edf")
    (root / "again").symlink_to("real")
    found = scanned(root)
    assert list(found.recordings) == ["own.edf"]
    (warning,) = found.warnings
    assert warning == "2 links lead to recordings that are read themselves: left out"


def test_link_into_another_named_root_needs_no_warning(root: Path, elsewhere: Path) -> None:
    (root / "sub").symlink_to(elsewhere)
    assert scanned(root, shhs=elsewhere).warnings == ()


def test_root_that_is_a_link_is_as_good_as_its_target(tmp_path: Path, root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "near.edf").symlink_to(root / "own.edf")
    (tmp_path / "alias").symlink_to(root)
    found = scanned(tmp_path / "alias")
    assert list(found.recordings) == ["own.edf"]
    assert found.warnings == ("1 link leads to recordings that are read themselves: left out",)


@pytest.mark.parametrize("target", ["..", "../..", "."])
def test_link_to_a_folder_above_is_a_loop_and_left_out(root: Path, target: str) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "up").symlink_to(target)
    found = scanned(root)
    assert list(found.recordings) == ["own.edf"]
    assert found.warnings == ("1 link leads back to a folder above, e.g. 'sub/up': left out",)


def test_loop_over_two_links_ends(root: Path, elsewhere: Path) -> None:
    (root / "sub").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(root)
    found = scanned(root)
    assert list(found.recordings) == ["own.edf", "sub/far.edf"]
    assert "1 link leads back to a folder above, e.g. 'sub/back': left out" in found.warnings


def test_loop_behind_a_linked_root_finds_nothing_twice(tmp_path: Path, root: Path) -> None:
    (root / "up").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(root)
    assert list(scanned(tmp_path / "alias").recordings) == ["own.edf"]


def test_links_to_nowhere_are_counted(root: Path) -> None:
    (root / "gone.edf").symlink_to(root / "deleted.edf")
    (root / "itself.edf").symlink_to("itself.edf")
    found = scanned(root)
    assert list(found.recordings) == ["own.edf"]
    assert found.warnings == ("2 links lead nowhere, e.g. 'gone.edf': left out",)


def test_root_with_nothing_but_dead_links_says_so(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "disk").symlink_to("/nowhere/mounted")
    problem = scanned(tmp_path / "root").problem
    assert problem is not None
    assert problem.endswith("; 1 link leads nowhere, e.g. 'disk': left out")


@pytest.mark.parametrize("linked", ["polysomnography", "polysomnography/edfs"])
def test_link_among_the_folders_that_a_reader_names_is_noted(tmp_path: Path, linked: str) -> None:
    """SHHS's reader names its folders and never lists those above them."""
    outside = tmp_path / "nas"
    below = Path("polysomnography/edfs/shhs1/shhs1-200001.edf").relative_to(linked)
    write_edf(outside / below, {"ECG": beats(20)})
    link = tmp_path / "shhs" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    settings = settings_for(tmp_path / "store", shhs=tmp_path / "shhs")
    (found,) = scan(settings).datasets
    assert list(found.recordings) == ["shhs1-200001"]
    assert found.warnings == (f"1 link leads outside the data roots, to {outside} (1): followed",)


def test_warnings_are_published_and_follow_the_links(root: Path, elsewhere: Path) -> None:
    (root / "sub").symlink_to(elsewhere)
    settings = settings_for(root.parent / "store", folder=root)
    run(settings)
    stored = ask(settings, "SELECT unnest(warnings) FROM datasets")
    assert (f"1 link leads outside the data roots, to {elsewhere} (1): followed",) in stored
    (root / "dead.edf").symlink_to("nowhere.edf")
    (found,) = scan(settings).datasets
    assert found.tables_changed


def test_many_targets_are_shortened(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for name in "abcde":
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "root" / name).symlink_to(tmp_path / "out" / name)
    with accounting_links(tmp_path / "root", [tmp_path / "root"]) as links:
        assert list_folders(tmp_path / "root") == list("abcde")
    (warning,) = links.warnings()
    assert warning.startswith("5 links lead outside the data roots, to ")
    assert warning.endswith(" and 2 more folders: followed")


def test_links_are_noted_for_the_root_in_hand_alone(root: Path, elsewhere: Path) -> None:
    with accounting_links(root, [root]) as links:
        pass
    (root / "sub").symlink_to(elsewhere)
    assert list_files(root) == ["own.edf"]
    assert links.warnings() == []
