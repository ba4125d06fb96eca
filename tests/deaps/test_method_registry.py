"""Things chosen by name, also those of other packages."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from deaps import method_registry
from deaps.method_registry import Registry, did_you_mean
from storage.errors import DeapsError


@pytest.fixture
def fruits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[str]:
    """A registry with an apple; an installed package adds a pear."""
    made: Registry[str] = Registry("fruit", "deaps.fruits")
    made.add("apple", "red")
    (tmp_path / "orchard.py").write_text("import gate\ngate.fruits.add('pear', 'green')\n")
    (tmp_path / "gate.py").write_text("fruits = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "orchard", raising=False)
    __import__("gate").fruits = made
    offer(monkeypatch, "orchard")
    return made


def offer(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    points = [EntryPoint(name, name, "deaps.fruits") for name in modules]
    monkeypatch.setattr(method_registry, "entry_points", lambda group: points)


def test_items_are_found_by_name(fruits: Registry[str]) -> None:
    assert fruits.find("apple") == "red"


def test_packages_add_theirs_when_a_name_is_not_there_yet(fruits: Registry[str]) -> None:
    assert fruits.find("pear") == "green"


def test_items_of_this_project_come_first(fruits: Registry[str]) -> None:
    assert list(fruits.all()) == ["apple", "pear"]


def test_packages_are_not_imported_for_a_name_that_is_there(fruits: Registry[str]) -> None:
    fruits.find("apple")
    assert "orchard" not in sys.modules


def test_an_unknown_name_is_answered_with_the_nearest_and_all(fruits: Registry[str]) -> None:
    with pytest.raises(DeapsError, match=r"no fruit 'aple': did you mean 'apple'\? \(possible: ap"):
        fruits.find("aple")


def test_a_name_is_given_once(fruits: Registry[str]) -> None:
    with pytest.raises(DeapsError, match="there is a fruit 'apple' already"):
        fruits.add("apple", "yellow")


def test_a_removed_name_can_be_given_again(fruits: Registry[str]) -> None:
    fruits.remove("apple")
    assert fruits.add("apple", "yellow") == fruits.find("apple") == "yellow"


def test_a_package_that_cannot_be_imported_is_named_each_time(
    fruits: Registry[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, "no_such_module")
    for _ in range(2):
        with pytest.raises(DeapsError, match=r"no_such_module. cannot be loaded .*mend"):
            fruits.all()
    assert fruits.find("apple") == "red"


def test_without_a_near_word_all_are_listed() -> None:
    assert did_you_mean("zzz", ["one", "two"]) == " (possible: one, two)"
