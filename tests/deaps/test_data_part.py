"""Parts of data sets, in settings and in the sampler."""

from __future__ import annotations

from pathlib import Path

import pytest

from deaps.config import DataPart, SamplingSettings, require_parts
from deaps.sampling.window_pool import load_pool
from storage.errors import DeapsError
from storage.schema import Quality
from storage.snapshot import open_index
from tests.storage.made_store import make_row, publish_rows, write_recording


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("parts")
    parts = {"a": "set-I", "b": "set-I", "c": "set-II"}
    rows = [
        write_recording(root, make_row(name, "cpsc2021", subject=name, split=part), 5)
        for name, part in parts.items()
    ]
    publish_rows(root, [*rows, write_recording(root, make_row("d", "mitdb", subject="d"), 5)])
    return root


@pytest.mark.parametrize(
    ("text", "expected"),
    [("mitdb", DataPart("mitdb")), ("cpsc2021:set-I", DataPart("cpsc2021", "set-I"))],
)
def test_a_part_stands_behind_a_colon(text: str, expected: DataPart) -> None:
    assert DataPart.parse(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    ("datasets", "subjects"),
    [(("cpsc2021:set-I",), 2), (("cpsc2021",), 3), (("cpsc2021:set-II", "mitdb"), 2), ((), 4)],
)
def test_the_sampler_draws_from_the_parts_named(
    store: Path, datasets: tuple[str, ...], subjects: int
) -> None:
    settings = SamplingSettings(datasets=datasets, qualities=tuple(map(str, Quality)))
    assert len(set(load_pool(store, settings).subjects.tolist())) == subjects


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cpsc", r"x has 'cpsc'; the index has 'cpsc2021', 'mitdb'"),
        ("cpsc2021:set-3", r"has 'cpsc2021:set-3'; .* 'cpsc2021:set-I', 'cpsc2021:set-II'"),
        ("mitdb:set-I", "mitdb has no parts"),
    ],
)
def test_a_part_that_is_not_there_is_named_with_those_that_are(
    store: Path, name: str, message: str
) -> None:
    with open_index(store) as index, pytest.raises(DeapsError, match=message):
        require_parts(index, [name], setting="x")
