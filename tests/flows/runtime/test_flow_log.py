"""What is said on the terminal stands in the log of a flow run, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.runtime.console import log_line

FLOW = """
import asyncio, time
import flows
from prefect import flow, get_client
from prefect.context import FlowRunContext
from flows.runtime.console import notify
from flows.runtime.prefect_glue import stage_task

@stage_task("a step")
def step():
    notify("a line of a step")

@flow
def lines():
    notify("a line of the flow")
    step()
    return str(FlowRunContext.get().flow_run.id)

async def read(run):
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
    async with get_client() as client:
        chosen = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run]))
        for _ in range(100):
            logs = [log.message for log in await client.read_logs(chosen)]
            if len(logs) > 1:
                return logs
            await asyncio.sleep(0.2)
        return logs

run = lines()
print("LOGGED", sorted(asyncio.run(read(run))))
"""


def test_outside_of_a_flow_run_nothing_is_logged() -> None:
    log_line("a line")


@pytest.mark.slow
def test_lines_of_flows_and_steps_reach_prefects_log_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLOW],
        env={**os.environ, "PREFECT_HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "LOGGED ['a line of a step', 'a line of the flow']" in done.stdout
    assert done.stderr.count("a line of the flow") == 1
