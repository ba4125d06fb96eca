"""The site, built once for all tests of the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.built_site import build_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site."""
    return build_site(tmp_path_factory.mktemp("built"))
