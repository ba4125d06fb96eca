from __future__ import annotations

import sys
from importlib.metadata import version

import pytest

from storage import Snapshot
from storage.errors import DeapsError
from storage.packages import installed_versions, require_extra


def test_python_comes_first_and_what_is_not_installed_is_left_out() -> None:
    versions = installed_versions(["numpy", "no-such-package", "duckdb"])
    assert list(versions) == ["python", "numpy", "duckdb"]
    assert versions["python"] == sys.version.split()[0]
    assert versions["numpy"] == version("numpy")


def test_a_snapshot_records_what_its_content_can_depend_on(published: Snapshot) -> None:
    assert set(published.versions) >= {"python", "duckdb", "numpy", "pyarrow"}
    assert published.versions["duckdb"] == version("duckdb")


def test_an_absent_package_is_named_with_the_command_that_installs_it() -> None:
    require_extra("fast", "numpy")
    with pytest.raises(DeapsError, match=r"^no_such_package is .*pip install 'deaps\[fast"):
        require_extra("fast", "numpy", "no_such_package")
