"""Documents that live outside ``docs/``: their pages, and the links to and from them.

On GitHub each document is where people look for it. The site shows the same text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docker/README.md": "containers.md",
    "experiments/open/open-plan.md": "open-plan.md",
    "deaps/models/pretrained/deaps-open/README.md": "shipped-encoder.md",
}
"""Page of each document."""

_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def outside_pages() -> dict[str, str]:
    """Return the text of each such page."""
    return {page: (ROOT / path).read_text() for path, page in OUTSIDE.items()}


def with_site_links(text: str, page: str) -> str:
    """Return a page's Markdown with links that hold in the site.

    A link to a file that the site does not have, such as a licence, becomes its plain text.
    """
    homes = {name: path for path, name in OUTSIDE.items()}
    folder = posixpath.dirname(homes.get(page, f"docs/{page}"))
    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(lambda match: _site_link(match, folder), part) for part in parts[::2]]
    return _without_links(("").join(parts))


def _site_link(match: re.Match[str], folder: str) -> str:
    target = match[2]
    if "://" in target or target.startswith("mailto:"):
        return match[0]
    path = posixpath.normpath(posixpath.join(folder, target))
    if path in OUTSIDE:
        return f"{match[1]}{OUTSIDE[path]}{match[3]}"
    if path.startswith("docs/"):
        page = path.removeprefix("docs/").replace(".ipynb", ".md")
        return f"{match[1]}{page}{match[3]}"
    return f"{match[1]}{_ABSENT}{match[3]}"


_ABSENT = "not-in-the-site"
_ABSENT_LINK = re.compile(rf"\[([^\]]*)\]\({_ABSENT}(?:#[^)]*)?\)")


def _without_links(text: str) -> str:
    return _ABSENT_LINK.sub(r"\1", text)
