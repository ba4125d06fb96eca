"""Arguments that Prefect hands to a task as they are."""

from __future__ import annotations

from typing import TypeVar, cast

from prefect.utilities.annotations import quote

T = TypeVar("T")


def opaque(value: T) -> T:
    """Return an argument for a task that Prefect does not look into.

    Prefect walks through lists and dataclasses among a task's arguments to find futures, which
    takes seconds for thousands of recordings.
    """
    return cast("T", quote(value))
