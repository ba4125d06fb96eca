"""Why something of a data set cannot be used, in words: neither modules nor lines nor free text."""

from __future__ import annotations

import os

from preprocessing.recording import UnreadableRecordingError

_REASON_LENGTH = 300


def reason(error: Exception) -> str:
    """Return why a recording or its scoring is set aside, in words that a person understands.

    The text of a library's error is left out: it may quote what stands in a header.
    """
    match error:
        case UnreadableRecordingError():
            text = str(error)
        case FileNotFoundError():
            text = "file vanished between scan and read"
        case PermissionError():
            text = "no permission to read the file"
        case MemoryError():
            text = "not enough memory to read the file"
        case OSError() if error.errno is not None:
            text = f"cannot be read: {os.strerror(error.errno)}"
        case _:
            text = "damaged: its content is none that a reader of its format expects"
    return text[:_REASON_LENGTH]
