"""Executed notebooks as pages: their text, code, answers and pictures."""

from __future__ import annotations

from pathlib import Path

from mkdocs.structure.files import Files
from nbconvert import MarkdownExporter


def notebook_pages(files: Files) -> dict[str, str | bytes]:
    """Return a page for each notebook in ``docs/``, and its pictures.

    The notebooks are left out of the site's own files: their pages take their place.
    """
    pages: dict[str, str | bytes] = {}
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            pages |= convert_notebook(Path(str(file.abs_src_path)))
    return pages


def convert_notebook(path: Path) -> dict[str, str | bytes]:
    """Return the Markdown of a notebook and its pictures, by name."""
    text, resources = MarkdownExporter().from_filename(str(path))
    pictures = {f"{path.stem}-{name}": data for name, data in resources["outputs"].items()}
    for name in resources["outputs"]:
        text = text.replace(f"({name})", f"({path.stem}-{name})")
    return {f"{path.stem}.md": text, **pictures}
