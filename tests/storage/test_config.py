from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from storage.config import StoreSettings


def test_root_may_be_a_string_as_in_a_configuration_file() -> None:
    assert StoreSettings.model_validate({"root": "x"}).root == Path("x")


@pytest.mark.parametrize("values", [{"rot": "x"}, {"normalise": "subject"}, {"root": 3}])
def test_unknown_or_mistyped_settings_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        StoreSettings.model_validate(values)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        StoreSettings().root = Path("y")  # type: ignore[misc]
