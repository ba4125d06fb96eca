"""Settings of the store, and the base class of the settings of all four packages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Normalisation = Literal["recording", "dataset", "window"]
"""Which mean and standard deviation windows are scaled by when they are read."""


QUERY_SECONDS = 60.0
QUERY_MEGABYTES = 2000.0


class SettingsSection(BaseModel):
    """A strict, frozen group of settings: an unknown key or a value of another type is an error."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


class StoreSettings(SettingsSection):
    """Where the store lies, how windows are read from it, and how long its logs are kept."""

    root: Annotated[Path, Field(strict=False)] = Path("store")
    """Folder of the store."""
    normalise: Normalisation = "recording"
    """``recording``: as stored; ``dataset``: by the data set's pooled mean and standard
    deviation; ``window``: each window to zero mean and unit standard deviation. The
    encoder begins with a layer norm of each 200 ms, which takes out any gain and offset of a
    window, so that this changes nothing but TF-C, which adds noise of a fixed size to a window,
    and Mixing-Up, which adds windows to each other."""
    query_seconds: Annotated[float, Field(gt=0)] = QUERY_SECONDS
    """Longest time that a statement of ``deaps query`` may take, in seconds."""
    query_megabytes: Annotated[float, Field(ge=10)] = QUERY_MEGABYTES
    """Most memory for a statement of ``deaps query``, and most for its result."""
    keep_logs_days: Annotated[int, Field(ge=1)] = 90
    """Days after which ``deaps gc`` removes a day's log."""
