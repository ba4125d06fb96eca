"""Values as SQL text, for the statements that take no parameters."""

from __future__ import annotations


def literal(text: str) -> str:
    """Return ``text`` as a SQL string."""
    return "'" + text.replace("'", "''") + "'"
