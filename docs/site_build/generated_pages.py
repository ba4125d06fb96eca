"""Pages that are made from the code, so that they cannot fall behind it."""

from __future__ import annotations

from docs.site_build.command_pages import commands_markdown


def generated_pages() -> dict[str, str]:
    """Return the text of each page that is made from the code."""
    return {"commands.md": commands_markdown()}
