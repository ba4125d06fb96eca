"""What a method keeps after training: a network that is built from its settings alone."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel
from torch import nn


class Network(nn.Module):
    """Windows, float (n, 1000), to representations, (n, d).

    Its file holds weights and settings, so that it is loaded without the method that trained it.
    """

    architecture: ClassVar[str]
    """What encoder files call it."""

    settings_type: ClassVar[type[BaseModel]]
    """Model of the settings that it is built from."""

    settings: BaseModel
