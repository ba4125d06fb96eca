"""The notebook: committed with its answers, and it gives them again in an empty folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "query-to-probe.ipynb"


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: Any) -> list[str]:
    """Return what a cell printed or answered, without its pictures."""
    printed = [output.get("text") for output in cell.outputs]
    answered = [output.get("data", {}).get("text/plain") for output in cell.outputs]
    return [text for text in (*printed, *answered) if text]


def test_every_cell_was_run_in_order_and_answered_without_an_error() -> None:
    cells = code_cells(nbformat.read(NOTEBOOK, as_version=4))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell.outputs for cell in cells)
    assert "error" not in {output.output_type for cell in cells for output in cell.outputs}


def test_its_answers_say_that_the_data_are_synthetic_and_name_no_machine() -> None:
    cells = code_cells(nbformat.read(NOTEBOOK, as_version=4))
    answers = "".join(text for cell in cells for text in texts(cell))
    assert "synthetic" in answers
    assert str(Path.home()) not in NOTEBOOK.read_text()
    assert "site-packages" not in answers


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Jupyter's own
def test_it_gives_the_same_answers_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    committed = [texts(cell) for cell in code_cells(notebook)]
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources=place).execute()
    assert [texts(cell) for cell in code_cells(notebook)] == committed
