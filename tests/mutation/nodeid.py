"""A pytest plugin: mutmut 3.8 asks tests for ``_nodeid``, which pytest no longer has."""

from __future__ import annotations

import pytest

if not hasattr(pytest.Item, "_nodeid"):
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
