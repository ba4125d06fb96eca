"""What a stage leaves in Prefect's pages; outside of a flow run, nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from flows.runtime.console import say
from flows.runtime.orchestration import in_flow

T = TypeVar("T")

_given_up = False
"""Whether the server did not take an artifact: each further try would cost a minute."""


def leave_table(rows: Sequence[dict[str, Any]], *, key: str, description: str) -> None:
    """Leave a table."""

    def leave() -> None:
        from prefect.artifacts import create_table_artifact

        create_table_artifact(list(rows), key=key, description=description)

    _leave(leave)


def leave_text(markdown: str, *, key: str) -> None:
    """Leave a page of Markdown."""

    def leave() -> None:
        from prefect.artifacts import create_markdown_artifact

        create_markdown_artifact(markdown, key=key)

    _leave(leave)


def leave_link(url: str, *, key: str, text: str, description: str) -> None:
    """Leave a link."""

    def leave() -> None:
        from prefect.artifacts import create_link_artifact

        create_link_artifact(url, key=key, link_text=text, description=description)

    _leave(leave)


def leave_progress(key: str) -> UUID | None:
    """Leave a progress bar at 0 %; return its id, None if there is none."""

    def leave() -> UUID | None:
        from prefect.artifacts import create_progress_artifact

        created = create_progress_artifact(0.0, key=key)
        return created if isinstance(created, UUID) else None

    return _leave(leave)


def move_progress(artifact: UUID | None, percent: float) -> None:
    """Move a progress bar."""

    def leave() -> None:
        from prefect.artifacts import update_progress_artifact

        if artifact is not None:
            update_progress_artifact(artifact, percent)

    _leave(leave)


def _leave(leave: Callable[[], T]) -> T | None:
    """Do it inside a flow run whose server answers; work never stops for a picture of it."""
    global _given_up  # one server for the whole process
    if _given_up or not in_flow():
        return None
    from httpx import HTTPError

    try:
        return leave()
    except HTTPError as error:
        _given_up = True
        say(f"Prefect's server takes no artifacts ({type(error).__name__}); going on without")
        return None
