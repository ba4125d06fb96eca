"""The site, built in a process that cannot connect to anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from signal import Signals

ROOT = Path(__file__).parents[2]
_BUILD = ("-m", "mkdocs", "build", "--strict")
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
        [sys.executable, "-X", "faulthandler", *_BUILD, "--site-dir", folder / "site"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"mkdocs {ending(done.returncode)}: {done.stdout[-4000:]}"
    return folder / "site"


def ending(returncode: int) -> str:
    """Return how a process ended; one that a signal killed may have printed nothing."""
    return f"killed by {Signals(-returncode).name}" if returncode < 0 else f"exit {returncode}"
