"""The installed packages: their versions, extras that are missing, and Python's collector."""

from __future__ import annotations

import gc
import hashlib
import platform
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from storage.errors import DeapsError

_OURS = ("storage", "preprocessing", "deaps", "flows")


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of Python and of each of the ``packages`` that is installed."""
    versions = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return our version and a digest of our source files: two machines may have other code."""
    digest = hashlib.sha256()
    for package in _OURS:
        spec = find_spec(package)
        folder = Path(spec.origin).parent if spec and spec.origin else Path()
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder.parent).as_posix().encode())
            digest.update(path.read_bytes())
    return f"{installed_versions(['deaps']).get('deaps', '0')}+{digest.hexdigest()[:12]}"


def has_package(name: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    return find_spec(name) is not None


def require_extra(extra: str, *packages: str) -> None:
    """Check that the packages of an extra are installed.

    Raises
    ------
    DeapsError
        If one is not; the message is the command that installs it.
    """
    if missing := [package for package in packages if not has_package(package)]:
        raise DeapsError(f"{', '.join(missing)} is not installed; run pip install 'deaps[{extra}]'")


_DISTRIBUTIONS = {"dask_jobqueue": "dask-jobqueue", "sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Packages that are installed under another name than they are imported by."""


def extra_with(module: str) -> str | None:
    """Return the smallest extra of ours that installs a module, None if none does."""
    package = module.partition(".")[0]
    wanted = _DISTRIBUTIONS.get(package, package)
    extras: dict[str, list[str]] = {}
    with suppress(PackageNotFoundError):
        for line in requires("deaps") or ():
            name, _, condition = line.partition(";")
            if extra := re.search(r"extra == ['\"](\w+)['\"]", condition):
                extras.setdefault(extra[1], []).append(
                    re.split(r"[^\w.-]", name.strip())[0].lower()
                )
    found = [extra for extra, names in extras.items() if wanted in names]
    return min(found, key=lambda extra: len(extras[extra]), default=None)


@contextmanager
def cycle_collector_paused() -> Iterator[None]:
    """Pause Python's cycle collector, which would examine tens of thousands of new tuples.

    It found nothing to free, and took more than half of the time of a scan without changes and
    a quarter of the time to publish one changed recording of 2,000.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
