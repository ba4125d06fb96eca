"""What names mean: of recordings in a table, however written, and of scorings next to them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from pathlib import PurePosixPath

_SUFFIXES = (
    ".edf", ".bdf", ".gdf", ".vhdr", ".fif", ".hea", ".dat", ".mat", ".atr", ".eeg", ".vmrk",
)  # fmt: skip


_FAMILIES = (
    {".edf"}, {".bdf"}, {".gdf"}, {".vhdr", ".eeg", ".vmrk"}, {".fif"},
    {".hea", ".dat", ".mat", ".atr"},
)  # fmt: skip
"""Endings of files that are one recording; a name with another means another recording."""

_SCORING_ENDINGS = ("-nsrr.xml", "-profusion.xml", ".xml", ".annot")
"""After a recording's name, the preferred first."""
_HYPNOGRAM = re.compile(
    r"(?P<stem>.*?)[-_ .]?(?:hypnogram|hypno|annotations|scoring|stages)\.(?:edf|bdf)",
    re.IGNORECASE,
)
_SLEEP_EDF = re.compile(r"(?P<night>\w{7})\w-(?:PSG|Hypnogram)", re.IGNORECASE)
"""Sleep-EDF: ``SC4001E0-PSG.edf`` and ``SC4001EC-Hypnogram.edf`` are one night."""


class FileNames:
    """Recordings below a folder, found by path or name, in any case.

    A name may have no ending, or that of any file of the recording: ``100.dat`` means ``100.hea``.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_key: dict[str, set[str]] = {}
        self._paths = set(paths)
        for path in self._paths:
            for key in _keys(path):
                self._by_key.setdefault(key, set()).add(path)

    def find(self, text: str) -> str | None:
        """Return the recording that is meant; None where there is none, or more than one.

        A text with a folder means a file in that folder alone.
        """
        meant = self.meant(text)
        return meant[0] if len(meant) == 1 else None

    def meant(self, text: str, *, anywhere: bool = True) -> list[str]:
        """Return the recordings that could be meant, in order; the exact name means itself.

        A bare name means a file in any folder, or else only in the top one.
        """
        name = _plain(text)
        if name in self._paths:
            return [name]
        if not name or ".." in PurePosixPath(name).parts:
            return []
        lower = unicodedata.normalize("NFC", name).lower()
        keys = [lower, _stem(lower)]
        if anywhere and "/" not in name:
            keys += [f"*/{lower}", f"*/{_stem(lower)}"]
        found = (self._by_key[key] for key in keys if key in self._by_key)
        return sorted(path for path in next(found, ()) if _are_one(lower, path.lower()))

    def nearest(self, text: str) -> str | None:
        """Return the recording whose name is most like a text that means none."""
        stems = {_stem(PurePosixPath(path).name.lower()): path for path in sorted(self._paths)}
        near = get_close_matches(_stem(PurePosixPath(_plain(text)).name.lower()), stems, n=1)
        return stems[near[0]] if near else None


def _plain(text: str) -> str:
    """Return a path with slashes, without a dot or a slash before it."""
    return text.strip().replace("\\", "/").removeprefix("./").lstrip("/")


def _keys(path: str) -> Iterator[str]:
    """Yield what a recording may be called; two ways to write an accent are one."""
    lower = unicodedata.normalize("NFC", path).lower()
    yield lower
    yield _stem(lower)
    name = PurePosixPath(lower).name
    yield f"*/{name}"
    yield f"*/{_stem(name)}"


def _are_one(name: str, path: str) -> bool:
    """Return whether a name's ending is one that the recording's files have, or none."""
    return all(
        any(path.endswith(other) for other in family)
        for family in _FAMILIES
        if any(name.endswith(suffix) for suffix in family)
    )


def _stem(name: str) -> str:
    """Return a name without the ending of a recording; any other dot is part of the name."""
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def match_scorings(
    recordings: Collection[str], names: Collection[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the scorings of each recording of a folder, the preferred first, and the unmatched.

    Of ``night.edf`` these are ``night-nsrr.xml``, ``night-profusion.xml``, ``night.xml``,
    ``night.annot`` (Luna), and an EDF+ hypnogram: ``night-hypnogram.edf``, or as in Sleep-EDF. An
    EDF that is named like a hypnogram, and belongs to no other recording, is a recording itself.
    """
    lowered = {name.lower(): name for name in names}
    hypnograms: dict[str, list[str]] = {}
    for name in sorted(names):
        if (night := _hypnogram_of(name)) is not None:
            hypnograms.setdefault(night, []).append(name)
    matched = {}
    for recording in recordings:
        stem = PurePosixPath(recording).stem.lower()
        wanted = [f"{stem}{ending}" for ending in _SCORING_ENDINGS]
        found = [lowered[name] for name in wanted if name in lowered]
        found += [n for night in _night_names(stem) for n in hypnograms.get(night, [])]
        if found := [name for name in found if name != recording]:
            matched[recording] = found
    used = {name for found in matched.values() for name in found}
    looks = [name for name in names if name.lower().endswith((".xml", ".annot"))]
    looks += [name for found in hypnograms.values() for name in found]
    return matched, sorted(set(looks) - used)


def _night_names(stem: str) -> list[str]:
    night = _SLEEP_EDF.fullmatch(stem)
    return [stem, *([night["night"]] if night else [])]


def _hypnogram_of(name: str) -> str | None:
    """Return the night, in small letters, whose hypnogram an EDF is by its name."""
    match = _HYPNOGRAM.fullmatch(name.lower())
    night = _SLEEP_EDF.fullmatch(PurePosixPath(name.lower()).stem)
    if match is None or not match["stem"]:
        return None
    return night["night"] if night else match["stem"]
