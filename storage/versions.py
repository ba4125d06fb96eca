"""Versions of Python and of packages, as snapshots and reports record them."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of Python and of each of the ``packages`` that is installed."""
    versions = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
