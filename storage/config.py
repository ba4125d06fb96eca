"""Settings of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from storage.settings import SettingsSection

Normalisation = Literal["recording", "dataset", "window"]
"""What windows are normalised by when they are read."""


class StoreSettings(SettingsSection):
    """Where the store lies, how windows are read from it, and how long its logs are kept."""

    root: Annotated[Path, Field(strict=False)] = Path("store")
    """Folder of the store."""
    normalise: Normalisation = "recording"
    """``recording``: as stored; ``dataset``: by the data set's pooled mean and standard
    deviation; ``window``: each window to zero mean and unit standard deviation."""
    keep_logs_days: Annotated[int, Field(ge=1)] = 90
    """Days after which ``deaps gc`` removes a day's log."""
