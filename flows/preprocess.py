"""The preprocessing stage: bring the store up to date, and do what follows a change."""

from __future__ import annotations

from collections.abc import Sequence

from flows.config import Settings
from flows.ingest.refresh import StoreRefresh, refresh_store
from flows.runtime.prefect_glue import in_flow
from flows.runtime.run_context import RunContext

CHANGED_EVENT = "deaps.dataset.changed"


def preprocess(
    context: RunContext, *, only: Sequence[str] = (), verify: bool = False
) -> StoreRefresh:
    """Bring the store up to date, publish one snapshot, and do what ``refresh.then`` asks for."""
    refresh = update_store(context, only=only, verify=verify)
    follow_change(context)
    return refresh


def update_store(
    context: RunContext, *, only: Sequence[str] = (), verify: bool = False
) -> StoreRefresh:
    """Bring the store up to date; emit an event if that changed what is published."""
    refresh = refresh_store(context.settings, context.scan, only=only, verify=verify)
    if refresh.changed:
        emit_change(context.settings, refresh)
    return refresh


def emit_change(settings: Settings, refresh: StoreRefresh) -> None:
    """Emit the event that triggers of others can wait for."""
    if not in_flow():
        return
    from prefect.events import emit_event

    emit_event(
        event=CHANGED_EVENT,
        resource={
            "prefect.resource.id": f"deaps.store.{refresh.snapshot.snapshot_id[:16]}",
            "prefect.resource.name": settings.store.root.name,
        },
        payload={
            "snapshot": refresh.snapshot.snapshot_id,
            "recordings_done": refresh.n_recordings,
            "datasets": sorted(settings.data.roots()),
        },
    )


def follow_change(context: RunContext) -> None:
    """Train, or train and evaluate, as ``refresh.then`` says; what is done is kept.

    Also where this run changed nothing: one before it may have been killed after its change.
    """
    if context.settings.refresh.then == "nothing":
        return
    # Imported here: the later stages import torch, and the pipeline imports this stage.
    from flows.pipeline import train_and_report
    from flows.train import raise_failures, train_experiment

    if context.settings.refresh.then == "train":
        raise_failures(train_experiment(context))
    else:
        train_and_report(context)
