"""Every package that is imported is declared, and an absent extra is named."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from deaps.models.export import export_onnx
from storage import packages
from storage.errors import DeapsError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OWN = ("storage", "preprocessing", "deaps", "flows", "tests")


def imported(folder: str) -> set[str]:
    """Return the packages that the modules of a folder import from outside, anywhere in them."""
    modules = {name for path in (ROOT / folder).rglob("*.py") for name in _imports(path)}
    return modules - {*OWN, "docs", "experiments"} - sys.stdlib_module_names


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def declared(*, dev: bool) -> set[str]:
    lists = [PROJECT["dependencies"]]
    lists += [
        names for extra, names in PROJECT["optional-dependencies"].items() if dev or extra != "dev"
    ]
    return {_normal(re.split(r"[<>=!\[ ]", text)[0]) for names in lists for text in names}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("folder", OWN)
def test_every_import_is_declared(folder: str) -> None:
    homes = packages_distributions()
    # Compiled parts of declared packages, imported under names of their own.
    parts = {"pydantic_core": "pydantic", "daal4py": "scikit-learn-intelex"}
    names = declared(dev=folder == "tests")
    undeclared = {
        package
        for package in imported(folder)
        if not {_normal(home) for home in homes.get(package, [])} & names
        and parts.get(package) not in names
    }
    assert undeclared == set()


def test_an_absent_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "has_package", lambda name: name != "onnxruntime")
    with pytest.raises(DeapsError, match=r"onnxruntime .* pip install 'deaps\[onnx\]'"):
        export_onnx(None, tmp_path / "encoder.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("prefect.client.orchestration", "pipeline"), ("distributed", "pipeline"),
        ("yaml", "pipeline"), ("sklearn.svm", "benchmarks"), ("matplotlib", "report"),
        ("wfdb", "formats"), ("mne", "formats"), ("numpy", None), ("nothing_of_ours", None),
    ],
)  # fmt: skip
def test_the_smallest_extra_with_a_module_is_known(module: str, extra: str | None) -> None:
    assert packages.extra_with(module) == extra


def test_all_has_every_extra_that_a_command_of_a_laptop_needs() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == "deaps[benchmarks,formats,pipeline,report]"
