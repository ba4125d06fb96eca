"""Pictures of a night, of windows and of visits, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from deaps import Encoder
from deaps.report.theme import VARIABLES
from flows.config import Settings
from flows.show import list_recordings, show
from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from storage.errors import DeapsError
from storage.files import SYNTHETIC_NAME
from tests.deaps.models.made_encoder import write_encoder
from tests.flows.inline import run, settings_for


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("show")
    root = DATASETS["shhs"].write(folder / "shhs", SynthSettings(shhs_subjects=1, shhs_hours=0.25))
    (root / SYNTHETIC_NAME).touch()
    made = settings_for(folder / "store", shhs=root)
    run(made)
    return made


@pytest.mark.parametrize(
    ("what", "files"),
    [
        ("shhs1-200001", ["shhs1-200001.png", "shhs1-200001.svg"]),
        ("shhs/shhs1-200001:3", ["shhs1-200001-3.png", "shhs1-200001-3.svg"]),
        ("shhs1-200001:3,9,15", ["shhs1-200001-3-9-15.png", "shhs1-200001-3-9-15.svg"]),
        ("200001", ["200001-visits.png", "200001-visits.svg"]),
    ],
)
def test_what_is_shown_comes_as_png_and_svg(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, files: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [path.name for path in show(settings, what, None, None).paths] == files
    picture = imread(tmp_path / files[0])
    assert picture.shape[1] == 1848
    edges = (picture[:20], picture[-20:], picture[:, :20], picture[:, -20:])
    assert all((edge == picture[0, 0]).all() for edge in edges), "something touches the edge"
    assert np.unique(picture.reshape(-1, picture.shape[2]), axis=0).shape[0] > 20
    text = (tmp_path / files[1]).read_text()
    assert not [stand_in for stand_in in VARIABLES if stand_in in text]


def test_a_night_names_its_stages_and_events(settings: Settings, tmp_path: Path) -> None:
    (path,) = show(settings, "shhs1-200001", None, tmp_path / "night.svg").paths
    text = path.read_text()
    for word in ("sleep stage", "REM", "events", "Unacceptable", "heart rate", "component 3"):
        assert word in text


@pytest.mark.parametrize("what", ["shhs1-200001", "shhs1-200001:3", "200001"])
def test_synthetic_recordings_say_so_in_terminal_and_picture(
    settings: Settings, tmp_path: Path, what: str
) -> None:
    shown = show(settings, what, None, tmp_path / "shown.svg")
    assert "(synthetic)" in shown.lines[0]
    assert "(synthetic)" in (tmp_path / "shown.svg").read_text()


@pytest.mark.parametrize("what", ["nobody", "shhs1-200001:9999", "shhs1-200001:x"])
def test_what_is_not_there_is_refused_with_what_is(
    settings: Settings, tmp_path: Path, what: str
) -> None:
    with pytest.raises(DeapsError, match=r"for example: shhs1-200001|its rows are 0 to 89"):
        show(settings, what, None, tmp_path / "x.png")


def test_an_encoder_of_other_windows_draws_no_night(settings: Settings, tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "e.safetensors", Encoder(), highpass_hz=1.0)
    with pytest.raises(DeapsError, match=r"signal\.highpass_hz is 0\.5, not 1\.0"):
        show(settings, "shhs1-200001", encoder, tmp_path / "x.png")


def test_another_format_is_refused(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match=r"allowed are \.png, \.svg"):
        show(settings, "shhs1-200001:1", None, tmp_path / "night.pdf")


@pytest.mark.parametrize("what", ["shhs1-200001", "shhs1-200001:3", "200001"])
def test_what_is_shown_fits_a_terminal_of_eighty_columns(settings: Settings, what: str) -> None:
    shown = show(settings, what, None, None, files=False, width=80)
    assert shown.paths == []
    assert max(map(len, shown.lines)) <= 80
    assert any(block in "".join(shown.lines) for block in "█▄▀▁")


def test_a_night_in_the_terminal_has_stages_quality_and_heart_rate(settings: Settings) -> None:
    text = "\n".join(show(settings, "shhs1-200001", None, None, files=False).lines)
    for word in ("sleep stage", "REM", "signal quality", "Unacceptable", "heart rate", "10 min"):
        assert word in text


def test_without_a_name_the_recordings_are_listed(settings: Settings) -> None:
    names = [row["name"] for row in list_recordings(settings.store.root)]
    assert names == ["shhs1-200001", "shhs2-200001"]
