"""The one base class of every group of settings, in all four packages."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingsSection(BaseModel):
    """A strict, frozen group of settings: an unknown key or a value of another type is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
