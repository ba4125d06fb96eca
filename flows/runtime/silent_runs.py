"""Runs whose process is gone: known by their silence, and marked Crashed by the server.

A worker that is killed cannot say that its run has ended. Each run sends a heartbeat every 30 s
(``PREFECT_FLOWS_HEARTBEAT_FREQUENCY``); an automation of the server waits for three of them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prefect.automations import Automation

AUTOMATION = "deaps: silent runs have crashed"
_HEARTBEAT = "prefect.flow-run.heartbeat"
_ENDS = ("Completed", "Skipped", "Failed", "Cancelled", "Crashed")
_WITHIN_S = 90
"""Three heartbeats; with the one before and the server's own pace, two and a half minutes."""


def ensure_automation() -> None:
    """Make the automation unless it is there."""
    try:
        _present()
    except ValueError:
        _automation().create()


def _present() -> Automation:
    from prefect.automations import Automation

    found: Automation = Automation.read(name=AUTOMATION)  # type: ignore[assignment]
    return found


def _automation() -> Automation:
    from prefect.automations import Automation
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import EventTrigger, Posture
    from prefect.events.schemas.events import ResourceSpecification

    return Automation(
        name=AUTOMATION,
        description="A flow run that sends no heartbeat for 90 s is marked Crashed.",
        trigger=EventTrigger(
            after={_HEARTBEAT},
            expect={_HEARTBEAT, *(f"prefect.flow-run.{end}" for end in _ENDS)},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=_WITHIN_S),
        ),
        actions=[
            ChangeFlowRunState(
                name=None,
                state=StateType.CRASHED,
                force=False,
                message="no heartbeat for 90 s: its process is gone",
            )
        ],
    )
