"""The id of a store: how processes on two machines know that they see the same one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from storage.errors import DeapsError
from storage.layout import STORE_ID_NAME


class OtherStoreError(DeapsError):
    """The store that is meant is not the one that this machine sees."""


def store_id(root: Path) -> str:
    """Return the id of a store; it is made at the first call, and never changes."""
    path = root / STORE_ID_NAME
    if (known := read_store_id(root)) is not None:
        return known
    root.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f".{STORE_ID_NAME}.{uuid.uuid4().hex}.tmp")
    own.write_text(uuid.uuid4().hex + "\n", encoding="ascii")
    try:
        os.link(own, path)  # fails if another process was first, whose id then stands
    except FileExistsError:
        pass
    finally:
        own.unlink()
    return path.read_text(encoding="ascii").strip()


def read_store_id(root: Path) -> str | None:
    """Return the id of the store in ``root``, None if there is none or no store at all."""
    try:
        return (root / STORE_ID_NAME).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def find_store(wanted: str, *roots: Path) -> Path:
    """Return the first of ``roots`` that is the store with the id ``wanted``.

    Raises
    ------
    OtherStoreError
        If none is.
    """
    for root in roots:
        if read_store_id(root) == wanted:
            return root
    seen = "; ".join(
        f"{root}: {read_store_id(root) or 'no store'}" for root in dict.fromkeys(roots)
    )
    raise OtherStoreError(
        f"this machine does not see the store {wanted} ({seen}); mount it here, at the same path "
        "or where store.root says"
    )
