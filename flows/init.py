"""A first look at a folder of somebody's own recordings: a table of subjects and a deaps.toml."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flows.config import CONFIG_NAME, load_settings
from preprocessing.datasets import DATASETS
from preprocessing.recording import FoundRecording
from preprocessing.user_folder.files import Guess, guess
from preprocessing.user_folder.table import COLUMNS, TABLE_NAMES, find_table
from storage.errors import DeapsError
from storage.files import replacing

_FORMATS = {
    ".edf": "EDF", ".bdf": "BDF", ".gdf": "GDF", ".vhdr": "BrainVision", ".fif": "FIF",
    ".hea": "WFDB",
}  # fmt: skip

_SIGNAL_FILES = (".mat", ".dat")

_CONFIG = """\
# Written by deaps init. Every other setting has a default: deaps config lists them all.
[data]
folder = {folder}

[store]
root = "store"
"""
_CONFIG_OF_TABLE = """
[cohort]
subjects = {table}
"""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What was found and written: each file with whether it is new."""

    n_recordings: int
    formats: dict[str, int]
    without_header: list[str]
    """Files that look like signals, but have no header that names them."""
    table: Path
    table_written: bool
    guessed: dict[str, int]
    config: Path
    config_written: bool
    overrides: tuple[str, ...]
    """Settings that every command needs with ``--set``, because the configuration lacks them."""


def init_folder(folder: Path, *, overwrite: bool = False) -> FirstLook:
    """Write ``subjects.csv`` into ``folder`` and ``deaps.toml`` into the working folder.

    Of a folder that is read-only, ``subjects.csv`` is in the working folder, too. A file that is
    there already stays, unless ``overwrite`` is asked for.

    Raises
    ------
    DeapsError
        If the folder has no recordings, or the working folder is read-only.
    """
    if not folder.is_dir():
        raise DeapsError(f"no folder at {folder}; name the one that holds your recordings")
    found = list(DATASETS["folder"].find(folder))
    if not found:
        raise DeapsError(_nothing_found(folder))
    table, config = _table_place(folder, overwrite=overwrite), Path(CONFIG_NAME)
    writes_table, writes_config = (overwrite or not path.exists() for path in (table, config))
    guesses = {r.name: guess(folder, r.name) for r in found} if writes_table else {}
    if writes_table:
        _write(table, _template(guesses))
    if writes_config:
        _write(config, _config(folder, table))
    return FirstLook(
        n_recordings=len(found),
        formats=_formats(found),
        without_header=_without_header(folder, found),
        table=table,
        table_written=writes_table,
        guessed=_counts(guesses),
        config=config,
        config_written=writes_config,
        overrides=tuple(_overrides(folder, table)),
    )


def _table_place(folder: Path, *, overwrite: bool) -> Path:
    """Return the table of subjects, in the working folder if that of the data is read-only."""
    present, is_writable = find_table(folder), os.access(folder, os.W_OK)
    if present is not None and (is_writable or not overwrite):
        return present
    return (folder if is_writable else Path()) / TABLE_NAMES[0]


def _overrides(folder: Path, table: Path) -> Iterator[str]:
    """Yield what the configuration does not say of folder and table."""
    settings = load_settings()
    if not _is_same(settings.data.roots().get("folder"), folder):
        yield f"data.folder={folder}"
    if _lies_outside(table, folder) and not _is_same(settings.cohort.subjects, table):
        yield f"cohort.subjects={table}"


def _is_same(configured: Path | None, path: Path) -> bool:
    return configured is not None and configured.resolve() == path.resolve()


def _lies_outside(table: Path, folder: Path) -> bool:
    return table.parent.resolve() != folder.resolve()


def _config(folder: Path, table: Path) -> str:
    text = _CONFIG.format(folder=_toml_path(folder))
    is_outside = _lies_outside(table, folder)
    return text + (_CONFIG_OF_TABLE.format(table=_toml_path(table)) if is_outside else "")


def _toml_path(path: Path) -> str:
    return json.dumps(_shown(path), ensure_ascii=False)


def _nothing_found(folder: Path) -> str:
    endings = Counter(path.suffix.lower() for path in folder.rglob("*") if path.is_file())
    seen = ", ".join(f"{n:,} {ending or 'without ending'}" for ending, n in endings.most_common(4))
    hint = (
        "; a .mat or .dat file needs its .hea header" if endings.keys() & set(_SIGNAL_FILES) else ""
    )
    return (
        f"no recordings below {folder}: formats are {', '.join(_FORMATS.values())}; "
        f"there are {seen or 'no files'}{hint}"
    )


def _without_header(folder: Path, found: Sequence[FoundRecording]) -> list[str]:
    used = {path for recording in found for path, _ in recording.files}
    files = (path for path in folder.rglob("*") if path.suffix.lower() in _SIGNAL_FILES)
    names = (path.relative_to(folder).as_posix() for path in files)
    return sorted(name for name in names if name not in used)


def _formats(found: Sequence[FoundRecording]) -> dict[str, int]:
    names = (_FORMATS[PurePosixPath(recording.files[0][0]).suffix.lower()] for recording in found)
    return dict(Counter(names).most_common())


def _counts(guesses: dict[str, Guess]) -> dict[str, int]:
    """Return how many recordings have each column filled."""
    return {
        name: sum(getattr(guessed, name) is not None for guessed in guesses.values())
        for name in COLUMNS[1:]
    }


def _template(guesses: dict[str, Guess]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, guessed in guesses.items():
        age = "" if guessed.age is None else f"{guessed.age:g}"
        writer.writerow([name, guessed.subject or "", guessed.visit or "", guessed.sex or "", age])
    return text.getvalue()


def _shown(given: Path) -> str:
    """Return a path as the configuration names it: relative where it lies in this folder."""
    path = given.absolute()
    inside = path.is_relative_to(Path.cwd())
    return os.path.relpath(path) if inside else str(path)


def _write(path: Path, text: str) -> None:
    try:
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeapsError(
            f"cannot write {path} ({error.strerror}); run deaps init in a folder of your own"
        ) from None
