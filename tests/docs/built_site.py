"""The site, built in a process that cannot connect to anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_NETWORK = """
import socket


def refuse(*arguments):
    raise OSError("the site is built without network")


socket.socket.connect = refuse
socket.getaddrinfo = refuse
"""


def build_site(folder: Path) -> Path:
    """Build the site below an empty folder, warnings as errors; return its own folder."""
    (folder / "sitecustomize.py").write_text(NO_NETWORK)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder / "site"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-4000:]}"
    return folder / "site"
