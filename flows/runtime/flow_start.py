"""What every flow does first: settings, and order among Prefect's processes."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from flows.config import Settings, default_config, load_settings
from flows.runtime.interrupt import keep_stopping_at_once
from flows.runtime.prefect_server import end_stray_servers, remember_server

FALLBACK_PRESET = "demo"
_OF_THE_MACHINE = ("data.", "execution.", "store.root")


def start_flow(
    preset: str | None, config: str | None, overrides: list[str] | None
) -> tuple[Settings, str | None]:
    """Return the settings of a flow run and the preset that they start from, if any.

    Where nothing at all is said and there is no deaps.toml, it is the demo, and that is told.
    """
    keep_stopping_at_once()
    end_stray_servers()
    remember_server()
    if preset is None and config is None and not overrides and default_config() is None:
        preset = FALLBACK_PRESET
        print(  # noqa: T201
            f"no deaps.toml in {Path.cwd()} and no DEAPS_CONFIG: this is the preset {preset!r}",
            file=sys.stderr,
        )
    path = Path(config) if config else None
    return load_settings(preset=preset, config=path, overrides=overrides or ()), preset


def command_line(
    command: str, preset: str | None, config: str | None, overrides: list[str] | None
) -> str:
    """Return the command that does what a flow run does, without what is this machine's alone."""
    words = ["deaps", command]
    words += ["--preset", preset] if preset else []
    words += ["--config", Path(config).name] if config else []
    for override in overrides or ():
        if not override.startswith(_OF_THE_MACHINE):
            words += ["--set", override]
    return shlex.join(words)
