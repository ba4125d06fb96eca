"""Installed packages: their versions, and the extras that bring optional ones."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from storage.errors import DeapsError


class MissingExtraError(DeapsError):
    """An optional package is not installed."""


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of Python and of each of the ``packages`` that is installed."""
    versions = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def has_package(name: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    return find_spec(name) is not None


def require_extra(extra: str, *packages: str) -> None:
    """Check that the packages of an extra are installed.

    Raises
    ------
    MissingExtraError
        If one is not; the message is the command that installs it.
    """
    if missing := [package for package in packages if not has_package(package)]:
        raise MissingExtraError(
            f"{', '.join(missing)} is not installed; run pip install 'deaps[{extra}]'"
        )
