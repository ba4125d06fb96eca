"""Which run a worker on another machine trains or embeds, and in which store."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from flows.config import Settings
from flows.monitoring.event_log import EventLog
from flows.runtime.console import say
from storage.files import find_store, store_id
from storage.packages import code_version


class RunAddress(BaseModel):
    """A run by name, its store by path and id, and the code that asks for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    store: str
    store_id: str
    code: str


def address_of(store: Path, run: str) -> RunAddress:
    """Return the address of a run in the store of this machine."""
    root = store.resolve()
    return RunAddress(name=run, store=str(root), store_id=store_id(root), code=code_version())


def settings_at(settings: Settings, address: RunAddress) -> Settings:
    """Return the settings with the store that the address means, as this machine sees it.

    Warns, on the screen and in the store's log, where this machine has other code.

    Raises
    ------
    OtherStoreError
        If this machine does not see that store: before any step.
    """
    root = find_store(address.store_id, settings.store.root.resolve(), Path(address.store))
    if (code := code_version()) != address.code:
        say(f"warning: {address.name} was planned by deaps {address.code}, and this is {code}")
        EventLog(root).write(
            "other code",
            level="warning",
            stage="train",
            training=address.name,
            reason=f"planned by deaps {address.code}, done by {code}",
        )
    store = settings.store.model_copy(update={"root": root})
    return settings.model_copy(update={"store": store})
