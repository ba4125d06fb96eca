"""The documents: what they name exists, and the tables of CONTRIBUTING are true."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.bench.__main__ import BENCHES

ROOT = Path(__file__).parents[2]
PACKAGES = ("storage", "preprocessing", "deaps", "flows")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        ROOT / "docker" / "README.md",
        *(ROOT / "deaps" / "models" / "pretrained").glob("*.md"),
    ]
)
EACH_DOCUMENT = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(#[^)\s]*)?\)")
PATH = re.compile(rf"`((?:{'|'.join(PACKAGES)}|tests|docs)/[\w./-]+)`")
FENCE = re.compile(r"^```.*?^```", flags=re.MULTILINE | re.DOTALL)

UNUSED_WORDS = ("not to be had", "in vain", "for want of", "goes by the name", "is left alone")
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "pydantic_core": "pydantic",
    "tomli_w": "tomli-w",
    "yaml": "pyyaml",
}
OPTIONAL = {
    "sklearnex": "scikit-learn-intelex",
    "daal4py": "scikit-learn-intelex",
    "dask_jobqueue": "dask-jobqueue",
}


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's heads, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", document.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@EACH_DOCUMENT
def test_every_link_leads_to_a_file_and_a_head_of_it(document: Path) -> None:
    links = LINK.findall(FENCE.sub("", document.read_text()))
    for target, anchor in links:
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path = (document.parent / target).resolve() if target else document
        assert path.exists(), target
        assert not anchor or anchor[1:] in anchors(path), f"{target}{anchor}"


@EACH_DOCUMENT
def test_every_path_of_ours_exists(document: Path) -> None:
    named = PATH.findall(FENCE.sub("", document.read_text()))
    assert [name for name in named if not (ROOT / name).exists()] == []


@EACH_DOCUMENT
def test_no_document_uses_the_turns_that_contributing_lists(document: Path) -> None:
    text = document.read_text()
    if document.name == "CONTRIBUTING.md":
        text = re.sub(r"^\| not \| but \|.*?\n\n", "", text, flags=re.MULTILINE | re.DOTALL)
    assert [words for words in UNUSED_WORDS if words in text] == []


def imported(package: str) -> set[str]:
    """Return the third-party distributions that a package imports, optional ones included."""
    names: set[str] = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    foreign = names - set(sys.stdlib_module_names) - set(PACKAGES)
    return {(DISTRIBUTIONS | OPTIONAL).get(name, name) for name in foreign}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_import_table_lists_what_a_package_imports(package: str) -> None:
    (row,) = (line for line in CONTRIBUTING.splitlines() if line.startswith(f"| `{package}/` |"))
    libraries = row.split("|")[4].removesuffix(" if installed ")
    assert set(re.split(r"[,;] | and ", libraries.strip())) == imported(package)


def test_preprocessing_uses_only_those_modules_of_storage_that_the_table_names() -> None:
    (row,) = (line for line in CONTRIBUTING.splitlines() if line.startswith("| `preprocessing/`"))
    files = (path.read_text() for path in (ROOT / "preprocessing").rglob("*.py"))
    used = {name for text in files for name in re.findall(r"from (storage\.\w+)", text)}
    assert set(re.findall(r"`(storage\.\w+)`", row)) == used


def test_the_tree_has_every_folder_and_no_other() -> None:
    block = re.search(r"## The tree\n\n```\n(.*?)```", CONTRIBUTING, flags=re.DOTALL)
    assert block
    drawn: set[Path] = set()
    package = Path()
    for indent, name in re.findall(r"^( *)(\w+)/", block[1], flags=re.MULTILINE):
        package = package if indent else Path(name)
        drawn.add(package / name if indent else package)
    folders = {
        path.parent.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("__init__.py")
        if len(path.relative_to(ROOT).parts) <= 3
    }
    # Folders without Python: SQL, and what was run for one page.
    assert drawn - {Path("storage/sql"), Path("experiments")} == folders


def test_performance_gives_a_command_for_every_measurement_there_is() -> None:
    text = (ROOT / "docs" / "performance.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    figures = [row for row in rows if "what was measured" not in row]
    assert len(figures) >= 23
    commands = [re.search(r"\| `python -m tests\.bench (\w+)` \|$", row) for row in figures]
    assert {command[1] for command in commands if command} <= set(BENCHES)
    assert all(commands)
    assert [name for name in BENCHES if f"tests.bench {name}`" not in text] == []


def test_the_citation_is_valid_and_names_software_and_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation.keys() >= {"message", "title", "authors"}
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert citation["version"] == version[1]
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == [
        "Atienza",
        "Bardram",
        "Puthusserypady",
    ]
    assert paper["title"] in (ROOT / "README.md").read_text().replace("\n", " ")
