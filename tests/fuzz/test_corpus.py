"""Every input that fuzzing has kept is still answered: read, or refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import CORPUS, TARGETS, attempt

INPUTS = [(name, path) for name in TARGETS for path in sorted((CORPUS / name).iterdir())]


@pytest.mark.parametrize(("name", "path"), INPUTS, ids=lambda value: getattr(value, "name", value))
def test_input_is_read_or_refused_in_words(name: str, path: Path) -> None:
    attempt(name, path.read_bytes())


def test_each_target_has_a_corpus() -> None:
    assert {name for name, _ in INPUTS} == set(TARGETS)
