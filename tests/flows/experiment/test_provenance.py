from __future__ import annotations

import pytest

from flows.experiment import provenance


def test_a_report_names_packages_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_PACKAGES", ("no-such-package", "numpy"))
    versions = provenance.versions()
    assert list(versions) == ["python", "no-such-package", "numpy"]
    assert versions["no-such-package"] == "not installed"
    assert versions["numpy"][0].isdigit()
