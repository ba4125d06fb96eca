"""The store described in Croissant 1.0, the metadata format of MLCommons for data sets.

Programs that know Croissant find the window files by it and read them as records. Nothing in it
names a person or a recording.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.files import CROISSANT_NAME, file_sha256, index_path, replacing, resolve_root
from storage.schema import WINDOW_S
from storage.snapshot import Snapshot, open_index, read_snapshot
from storage.tables import describe_column
from storage.windows import window_schema

if TYPE_CHECKING:
    import pyarrow as pa

_WINDOW_FILES = "window-files"
_PATTERN = "windows/*/*/*.parquet"
_LICENCE = "That of each data set it was made from; nothing here grants more."
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    **{
        name: f"cr:{name}"
        for name in (
            *(
                "citeAs",
                "column",
                "equivalentProperty",
                "extract",
                "field",
                "fileObject",
                "fileProperty",
                "fileSet",
            ),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
            *("path", "recordSet", "references", "regex", "repeated", "replace", "separator"),
            *("samplingRate", "source", "subField", "transform"),
        )
    },
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}


def write_croissant(
    root: Path | str, *, labels: Mapping[str, str] | None = None, out: Path | None = None
) -> Path:
    """Write the metadata of a store's published index, by default next to it; return the file.

    Parameters
    ----------
    root
        Folder of the store.
    labels
        Names for people of data sets, by key.
    out
        File to write.
    """
    store = resolve_root(root)
    path = out or store / CROISSANT_NAME
    text = json.dumps(croissant(store, labels or {}), indent=2, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")
    return path


def croissant(store: Path, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the metadata: what the store holds, its files, and the columns of a window."""
    with open_index(store) as index:
        snapshot = read_snapshot(index)
        datasets = index.execute("SELECT dataset, synthetic FROM datasets ORDER BY 1").fetchall()
    names = [labels.get(name, name) for name, _ in datasets]
    made = [labels.get(name, name) for name, is_synthetic in datasets if is_synthetic]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "deaps-store",
        "description": _description(snapshot, names, made),
        "url": f"urn:deaps:snapshot:{snapshot.snapshot_id}",
        "license": _LICENCE,
        "version": f"{snapshot.schema_version}.0.0",
        "datePublished": snapshot.published_at.date().isoformat(),
        "citeAs": f"The data sets it was made from: {', '.join(names)}.",
        "keywords": ["ECG", "polysomnography", *names, *(["synthetic"] if made else [])],
        "isLiveDataset": True,
        "distribution": [_index_file(store), _window_files()],
        "recordSet": [_windows()],
    }


def _description(snapshot: Snapshot, names: list[str], made: list[str]) -> str:
    text = (
        f"{snapshot.n_windows:,} windows of {WINDOW_S} s of ECG at 100 Hz from "
        f"{snapshot.n_recordings - snapshot.n_quarantined:,} recordings of {', '.join(names)}, "
        "filtered, normalised by their recording, each with its quality and rhythm."
    )
    if made:
        text += f" Synthetic, no person was recorded: {', '.join(made)}."
    return text


def _index_file(store: Path) -> dict[str, Any]:
    path = index_path(store)
    return {
        "@type": "cr:FileObject",
        "@id": "index",
        "name": path.name,
        "description": "DuckDB database over the window files: recordings, subjects, sleep stages, "
        "events, results. Its columns have comments.",
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/vnd.duckdb",
        "sha256": file_sha256(path),
    }


def _window_files() -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": _WINDOW_FILES,
        "name": _WINDOW_FILES,
        "description": "One Parquet file for each recording; the index names those that count.",
        "encodingFormat": "application/x-parquet",
        "includes": _PATTERN,
    }


def _windows() -> dict[str, Any]:
    name = {
        "@type": "cr:Field",
        "@id": "windows/file",
        "name": "file",
        "description": "Path of the window file: data set, recording, digest.",
        "dataType": "sc:Text",
        "source": {"fileSet": {"@id": _WINDOW_FILES}, "extract": {"fileProperty": "fullpath"}},
    }
    return {
        "@type": "cr:RecordSet",
        "@id": "windows",
        "name": "windows",
        "description": "One record for each window.",
        "field": [name, *map(_field, window_schema())],
    }


def _field(column: pa.Field) -> dict[str, Any]:
    import pyarrow as pa

    is_list = pa.types.is_fixed_size_list(column.type)
    described = describe_column("windows_with_signal" if is_list else "windows", column.name)
    return {
        "@type": "cr:Field",
        "@id": f"windows/{column.name}",
        "name": column.name,
        "description": described or column.name,
        "dataType": _data_type(column.type.value_type if is_list else column.type),
        "source": {"fileSet": {"@id": _WINDOW_FILES}, "extract": {"column": column.name}},
        **({"repeated": True} if is_list else {}),
    }


def _data_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Text" if pa.types.is_string(kind) else "sc:Float"
