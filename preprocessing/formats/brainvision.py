"""BrainVision headers: which files they name. mne reads the samples."""

from __future__ import annotations

import re
from pathlib import Path

from preprocessing.formats.wfdb_header import safe_file_name
from preprocessing.recording import UnreadableRecordingError

_NAMED = re.compile(r"^[ \t]*(DataFile|MarkerFile)[ \t]*=[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_MOST_BYTES = 1 << 20


def named_files(header: Path) -> dict[str, str]:
    """Return the files that a header names, as ``DataFile`` and ``MarkerFile``.

    People rename files, so that these need not have the header's own name.

    Raises
    ------
    UnreadableRecordingError
        If one of them is outside the header's folder, or the file is too large for a header.
    """
    if header.stat().st_size > _MOST_BYTES:
        raise UnreadableRecordingError("not a VHDR file: it is too large for a header")
    text = header.read_text(encoding="utf-8", errors="replace")
    names: dict[str, str] = {}
    for key, name in _NAMED.findall(text):
        if name:
            names.setdefault(key, safe_file_name(name))
    return names
