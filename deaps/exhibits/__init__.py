"""Exhibits: what the report shows beside its tables, as numbers ready to draw."""

from __future__ import annotations

from storage.errors import DeapsError


class NotShownError(DeapsError):
    """The data do not allow an exhibit; the message says what is missing."""
