"""What the documents tell a reader to run, run literally, in a fresh folder for each page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.runnable_blocks import KINDS, LANGUAGES, run_blocks, runnable_blocks

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_FAST = [
    path
    for path in DOCUMENTS
    if (kinds := {block.kind for block in runnable_blocks(path)}) and kinds == {"fast"}
]
WITH_SLOW = [
    path for path in DOCUMENTS if any(block.kind == "slow" for block in runnable_blocks(path))
]
FIRST_PAGES = ("README.md", "quick-start.md", "first-cohort.md", "shhs.md", "open-data.md")


def name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_mark_belongs_to_a_block_of_a_known_kind(document: Path) -> None:
    blocks = runnable_blocks(document)
    assert len(re.findall(r"^<!-- runnable", document.read_text(), re.MULTILINE)) == len(blocks)
    assert {block.kind for block in blocks} <= set(KINDS)
    assert {block.language for block in blocks} <= set(LANGUAGES)


@pytest.mark.parametrize("page", FIRST_PAGES)
def test_the_pages_that_newcomers_follow_have_blocks_that_run(page: str) -> None:
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    assert runnable_blocks(path)


@pytest.mark.parametrize("document", WITH_FAST, ids=name)
def test_a_page_runs_as_it_stands(document: Path, tmp_path: Path) -> None:
    run_blocks(runnable_blocks(document), tmp_path, seconds=540)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("document", WITH_SLOW, ids=name)
def test_a_long_page_runs_as_it_stands(document: Path, tmp_path: Path) -> None:
    blocks = [block for block in runnable_blocks(document) if block.kind != "install"]
    run_blocks(blocks, tmp_path, seconds=3600)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_installation_works_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = tmp_path / "deaps"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    blocks = [b for b in runnable_blocks(ROOT / "docs/quick-start.md") if b.kind == "install"]
    run_blocks(blocks, clone, seconds=1500)
    subprocess.run([clone / ".venv/bin/deaps", "--help"], check=True, capture_output=True)
