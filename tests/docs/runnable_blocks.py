"""The blocks of a document that a reader is meant to run, and how a test runs them.

A block is runnable if a comment stands on the line before it:

    <!-- runnable -->            in every run of the tests
    <!-- runnable: slow -->      only with the slow tests
    <!-- runnable: install -->   only in a fresh clone with a fresh environment

The blocks of a page run in their order, in one shell and one fresh folder, as a reader would.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.docs.built_site import ending

_BLOCK = re.compile(
    r"^<!-- runnable(?:: (?P<kind>\w+))? -->\n```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
KINDS = ("fast", "slow", "install")
LANGUAGES = ("sh", "python")


@dataclass(frozen=True, slots=True)
class Block:
    """One runnable block."""

    kind: str
    language: str
    text: str
    line: int


def runnable_blocks(document: Path) -> list[Block]:
    """Return the runnable blocks of a document, in order."""
    text = document.read_text()
    return [
        Block(
            kind=match["kind"] or "fast",
            language=match["language"],
            text=match["text"],
            line=text.count("\n", 0, match.start("text")) + 1,
        )
        for match in _BLOCK.finditer(text)
    ]


def script(blocks: list[Block]) -> str:
    """Return the blocks as one shell script that stops at the first command that fails."""
    parts = ["set -euo pipefail"]
    for block in blocks:
        parts.append(f"echo '=== line {block.line}' >&2")
        if block.language == "python":
            parts.append(f"python - <<'END_OF_PYTHON'\n{block.text}END_OF_PYTHON")
        else:
            parts.append(block.text)
    return "\n".join(parts)


def run_blocks(blocks: list[Block], folder: Path, *, seconds: float) -> None:
    """Run blocks in a folder with the commands of this environment; fail with what they print."""
    commands = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "COLUMNS": "100"}
    environment.pop("DEAPS_CONFIG", None)
    done = subprocess.run(
        ["bash", "-c", script(blocks)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    # What the last block printed: libraries may write much after the line that says why.
    last = done.stderr.rpartition("=== line ")[2]
    shown = last if len(last) <= 8000 else f"{last[:4000]}\n...\n{last[-4000:]}"
    assert done.returncode == 0, f"{ending(done.returncode)}\n{done.stdout[-2000:]}\nline {shown}"
