"""Optional packages: found, or named with the extra that brings them."""

from __future__ import annotations

from importlib.util import find_spec

from storage.errors import DeapsError


class MissingExtraError(DeapsError):
    """A package that only some need is not installed."""


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
