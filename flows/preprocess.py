"""The preprocessing stage: bring the store up to date, and do what follows a change."""

from __future__ import annotations

from prefect import flow
from prefect.events import emit_event
from prefect.task_runners import ThreadPoolTaskRunner

from flows.config import Settings
from flows.ingest.refresh import BATCHES_AT_ONCE, StoreRefresh, refresh_store
from flows.runtime.flow_start import StageParameters, handed_scan, is_stage, start_flow
from flows.runtime.orchestration import in_flow

CHANGED_EVENT = "deaps.dataset.changed"


@flow(
    name="deaps-preprocess",
    task_runner=ThreadPoolTaskRunner(max_workers=BATCHES_AT_ONCE),  # type: ignore[arg-type]
)
def preprocess(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    only: list[str] | None = None,
    verify: bool = False,
) -> StoreRefresh:
    """Bring the store up to date with the data sets and publish one snapshot.

    Where that changed what is published, an event says so, and what ``refresh.then`` asks for
    follows.
    """
    settings, _ = start_flow(preset, config, overrides)
    refresh = refresh_store(settings, handed_scan(), only=only or (), verify=verify)
    if refresh.changed:
        emit_change(settings, refresh)
    if not is_stage():
        follow_change(settings, StageParameters(preset, config, overrides))
    return refresh


def emit_change(settings: Settings, refresh: StoreRefresh) -> None:
    """Emit the event that triggers of others can wait for."""
    if not in_flow():
        return
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


def follow_change(settings: Settings, parameters: StageParameters) -> None:
    """Train, or train and evaluate, as ``refresh.then`` says; what is done is kept.

    Also where this run changed nothing: one before it may have been killed after its change.
    """
    if settings.refresh.then == "nothing":
        return
    # Imported here: the later stages import torch, and the pipeline imports this stage.
    from flows.pipeline import raise_failures, train_and_report, train_experiment
    from flows.report import link_report

    if settings.refresh.then == "train":
        raise_failures(train_experiment(settings, parameters))
    else:
        link_report(settings, train_and_report(settings, parameters))
