"""The store: window files and the index over them, to read and to write."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from storage.schema import (
    FS,
    SCHEMA_VERSION,
    WINDOW_S,
    WINDOW_SAMPLES,
    DatasetRow,
    Quality,
    RecordingRow,
    Sex,
    SourceFile,
    Status,
)

if TYPE_CHECKING:
    from storage.config import StoreSettings
    from storage.files import window_path
    from storage.index.published import PublishedState, load_published, published_sources
    from storage.maintenance import Finding, check_store, remove_unused_files
    from storage.query import run_query
    from storage.snapshot import Snapshot, open_index
    from storage.window_store import WindowStore
    from storage.windows import read_recording_row, write_window_file

__all__ = [
    "FS",
    "SCHEMA_VERSION",
    "WINDOW_S",
    "WINDOW_SAMPLES",
    "DatasetRow",
    "Finding",
    "PublishedState",
    "Quality",
    "RecordingRow",
    "Sex",
    "Snapshot",
    "SourceFile",
    "Status",
    "StoreSettings",
    "WindowStore",
    "check_store",
    "load_published",
    "open_index",
    "published_sources",
    "read_recording_row",
    "remove_unused_files",
    "run_query",
    "window_path",
    "write_window_file",
]

# Loaded on first use: numpy, DuckDB and pyarrow take half a second to import, and most commands
# need none of them. `publish` is not listed: its module, once loaded, would hide the function.
_LAZY = {
    "Finding": "maintenance",
    "PublishedState": "index.published",
    "Snapshot": "snapshot",
    "StoreSettings": "config",
    "WindowStore": "window_store",
    "check_store": "maintenance",
    "remove_unused_files": "maintenance",
    "load_published": "index.published",
    "open_index": "snapshot",
    "published_sources": "index.published",
    "read_recording_row": "windows",
    "run_query": "query",
    "window_path": "files",
    "write_window_file": "windows",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'storage' has no attribute {name!r}")
    return getattr(importlib.import_module(f"storage.{_LAZY[name]}"), name)
