"""What mkdocs calls while it builds the site: pages from outside ``docs/``, and formulas."""

from __future__ import annotations

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.site_build.formulas import with_mathml
from docs.site_build.generated_pages import generated_pages
from docs.site_build.notebooks import notebook_pages
from docs.site_build.outside_pages import outside_pages, with_site_links


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made from code, from notebooks and from the project's folder."""
    pages = {**outside_pages(), **generated_pages()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for name, content in notebook_pages(files).items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Let links to the project's other documents lead to their pages."""
    return with_site_links(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers draw without a script."""
    return with_mathml(html)
