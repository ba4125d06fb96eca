"""What every stage is given: settings, where they come from, and what its caller knows already."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deaps.evaluation.document import Stage
from flows.config import Settings, load_settings, name_sources
from flows.runtime.console import notify

if TYPE_CHECKING:
    from flows.ingest.scan import Scan
    from flows.runtime.dask_pool import SharedWorkers

DEMO_PRESET = "demo"
_OF_THE_MACHINE = ("data.", "execution.", "store.root")


@dataclass(frozen=True, slots=True)
class StageParameters:
    """Where settings come from: the parameters that every flow has, which are JSON."""

    preset: str | None = None
    config: str | None = None
    overrides: list[str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return them as parameters of a flow run."""
        return asdict(self)

    def command_line(self, command: str) -> str:
        """Return what a person would type, without what belongs to this machine alone."""
        words = ["deaps", command]
        words += ["--preset", self.preset] if self.preset else []
        words += ["--config", Path(self.config).name] if self.config else []
        for override in self.overrides or ():
            if not override.startswith(_OF_THE_MACHINE):
                words += ["--set", override]
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class RunContext:
    """The arguments that all stages share."""

    settings: Settings
    parameters: StageParameters = StageParameters()
    scan: Scan | None = None
    """Of the data sets, where the command has made one."""
    workers: SharedWorkers | None = None
    """Of several stages; None where each starts its own."""
    stages: tuple[Stage, ...] = ()
    """That ran before, for the record."""
    command: str | None = None
    """Of the whole, for the record; None where the stage is the whole."""

    def with_settings(self, settings: Settings) -> RunContext:
        """Return the same with other settings."""
        return replace(self, settings=settings)


def load_context(preset: str | None, config: str | None, overrides: list[str] | None) -> RunContext:
    """Return the context of a deployment's run: options, then a deaps.toml, then defaults."""
    path, typed = Path(config) if config else None, overrides or ()
    settings = load_settings(preset=preset, config=path, overrides=typed)
    sources = name_sources(preset=preset, config=path, overrides=typed)
    notify(f"store: {settings.store.root}, settings: {sources}")
    return RunContext(settings, StageParameters(preset, config, overrides))
