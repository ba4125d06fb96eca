"""The deployments: which flow goes by which name, on which work pool, with which parameters.

``prefect.yaml`` says the same for `prefect deploy`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from deaps.method_registry import method_names


@dataclass(frozen=True, slots=True)
class Deployment:
    """A flow under a name, ready to be run by ``prefect deployment run FLOW/NAME``."""

    flow: str
    name: str
    entrypoint: str
    """Module and function."""
    pool: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    scheduled: bool = False
    """Whether it runs by ``refresh.cron``."""
    limited: bool = True
    """Whether its runs wait for each other; else as many run as workers have room."""


def deployments() -> Iterator[Deployment]:
    """Yield all deployments."""
    yield Deployment(
        "deaps-pipeline",
        "full",
        "flows.pipeline.pipeline",
        "cpu",
        "From data sets to the report; what is done already is kept.",
    )
    yield Deployment(
        "deaps-preprocess",
        "refresh",
        "flows.preprocess.preprocess",
        "cpu",
        "Look at the data sets, preprocess what changed, publish a snapshot.",
        scheduled=True,
    )
    for method in method_names():
        yield Deployment(
            "deaps-train",
            method,
            "flows.train.train",
            "gpu",
            f"Train {method} on the published snapshot.",
            {"methods": [method]},
        )
    yield Deployment(
        "deaps-train",
        "run",
        "flows.train.train",
        "gpu",
        "Train one run that a pipeline has prepared; its own lock keeps it single.",
        limited=False,
    )
    yield Deployment(
        "deaps-embed",
        "run",
        "flows.embed.embed",
        "gpu",
        "Embed what the evaluation lacks, for one run or for all.",
        limited=False,
    )
    yield Deployment(
        "deaps-evaluate",
        "all",
        "flows.evaluate.evaluate",
        "cpu",
        "Run every benchmark on every finished run, and write the report.",
    )
    yield Deployment(
        "deaps-report",
        "newest",
        "flows.report.report",
        "cpu",
        "Write the page of the newest evaluation, unless it is there.",
    )
