"""What every flow does first: settings, and order among Prefect's processes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deaps.evaluation.document import Stage
from flows.config import Settings, load_settings, name_sources
from flows.ingest.scan import Scan
from flows.runtime.console import say
from flows.runtime.prefect_server import end_stray_servers, remember_server
from flows.runtime.processes import keep_stopping_at_once

DEMO_PRESET = "demo"
_OF_THE_MACHINE = ("data.", "execution.", "store.root")


@dataclass(frozen=True, slots=True)
class Handover:
    """What the command that calls a flow has loaded already."""

    settings: Settings
    scan: Scan | None
    is_stage: bool = False
    """Whether the flow is a stage of another one, which says itself what follows."""
    stages: tuple[Stage, ...] = ()
    """Stages before this one, for the record."""
    command: str | None = None
    """What a person would type for all of it."""


@dataclass(frozen=True, slots=True)
class StageParameters:
    """The parameters that every flow has: where its settings come from."""

    preset: str | None = None
    config: str | None = None
    overrides: list[str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return them as keyword arguments of a flow, and as JSON of a deployment's run."""
        return asdict(self)


_handover: ContextVar[Handover | None] = ContextVar("handover", default=None)


@contextmanager
def hand_over(
    settings: Settings,
    scan: Scan | None = None,
    *,
    is_stage: bool = False,
    stages: Iterable[Stage] = (),
    command: str | None = None,
) -> Iterator[None]:
    """Let the flow that is called inside use these settings and this scan.

    A flow's own parameters are JSON that Prefect stores; these objects stay in the process.
    """
    token = _handover.set(Handover(settings, scan, is_stage, tuple(stages), command))
    try:
        yield
    finally:
        _handover.reset(token)


def handed_scan() -> Scan | None:
    """Return the scan that the calling command has made, if there is one."""
    handover = _handover.get()
    return handover.scan if handover else None


def is_stage() -> bool:
    """Return whether the flow is a stage of another one."""
    handover = _handover.get()
    return handover is not None and handover.is_stage


def stages_before() -> tuple[Stage, ...]:
    """Return the stages before this one."""
    handover = _handover.get()
    return handover.stages if handover else ()


def start_flow(
    preset: str | None, config: str | None, overrides: list[str] | None
) -> tuple[Settings, str | None]:
    """Return the settings of a flow run and the preset that they start from, if any.

    The rule is that of every command: options, then a deaps.toml, then defaults.
    """
    keep_stopping_at_once()
    end_stray_servers()
    remember_server()
    if handover := _handover.get():
        return handover.settings, preset
    path, typed = Path(config) if config else None, overrides or ()
    settings = load_settings(preset=preset, config=path, overrides=typed)
    sources = name_sources(preset=preset, config=path, overrides=typed)
    say(f"store: {settings.store.root}, settings: {sources}")
    return settings, preset


def command_line(
    command: str, preset: str | None, config: str | None, overrides: list[str] | None
) -> str:
    """Return the command that does what a flow run does, without what is this machine's alone."""
    if (handover := _handover.get()) and handover.command:
        return handover.command
    words = ["deaps", command]
    words += ["--preset", preset] if preset else []
    words += ["--config", Path(config).name] if config else []
    for override in overrides or ():
        if not override.startswith(_OF_THE_MACHINE):
            words += ["--set", override]
    return shlex.join(words)
