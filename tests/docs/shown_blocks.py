"""Blocks of a document that need a cluster: a test takes them from the page and fills in names."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(?:sh|toml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_block(page: str, containing: str, names: dict[str, str] | None = None) -> str:
    """Return the one block of a page with that text in it, its place-holders replaced."""
    blocks = [match["text"] for match in _BLOCK.finditer((DOCS / page).read_text())]
    (text,) = [block for block in blocks if containing in block]
    for placeholder, name in (names or {}).items():
        assert placeholder in text, f"no {placeholder!r} in the block any more"
        text = text.replace(placeholder, name)
    return text


def commands(block: str) -> list[str]:
    """Return the commands of a block of shell, one each, without comments."""
    joined = block.replace("\\\n", " ")
    return [line.partition("  #")[0].strip() for line in joined.splitlines() if line.strip()]
