"""The oracle: what was acknowledged, noted outside the store before the next fault."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Oracle:
    """A log of acknowledgements; a line counts once it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, kind: str, **facts: Any) -> None:
        """Note that something was acknowledged: from now on it must never be lost."""
        line = json.dumps({"kind": kind, **facts}) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
        os.close(descriptor)

    def notes(self, kind: str) -> list[dict[str, Any]]:
        """Return what was acknowledged, in order."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().splitlines(keepends=True)
        notes = [json.loads(line) for line in lines if line.endswith("\n")]
        return [note for note in notes if note["kind"] == kind]
