"""Configuration: strict, layered, and helpful when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import Settings, load_settings, parse_override
from flows.experiment.plan import method_plan
from flows.presets import preset_names
from storage.config import SettingsSection
from storage.errors import DeapsError


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEAPS_CONFIG", raising=False)


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_loads(preset: str) -> None:
    assert load_settings(preset=preset).data.roots()


def test_presets_are_the_promised_ones() -> None:
    assert preset_names() == ["demo", "open", "paper"]


def test_paper_preset_normalises_by_data_set() -> None:
    assert load_settings(preset="paper").store.normalise == "dataset"


def test_override_wins_over_file_over_preset(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "paper"\n[data]\nshhs = "/a"\nmitdb = "/b"\n')
    settings = load_settings(config=file, overrides=["data.mitdb=/c"])
    assert settings.data.shhs == Path("/a")
    assert settings.data.mitdb == Path("/c")
    assert settings.store.normalise == "dataset"


def test_deaps_toml_in_the_working_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "deaps.toml").write_text("[quality]\nclip_run = 5\n")
    assert load_settings().quality.clip_run == 5


def test_variable_names_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.toml").write_text("[quality]\nclip_run = 5\n")
    monkeypatch.setenv("DEAPS_CONFIG", str(tmp_path / "x.toml"))
    assert load_settings().quality.clip_run == 5


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("quality.flats=2.5", "did you mean 'flat_s'"),
        ("qualty.flat_s=2.5", "did you mean 'quality'"),
        ("signal.fix_polarity=maybe", "signal.fix_polarity: Input should be a valid boolean"),
        ("signal.highpass_hz=-1", "greater than 0"),
        ("store.normalise=subject", "store.normalise"),
        ("nonsense", "is not section.key=value"),
        ("=1", "is not section.key=value"),
    ],
)
def test_wrong_settings_are_explained(override: str, message: str) -> None:
    with pytest.raises(DeapsError, match=message):
        load_settings(overrides=[override])


def test_paths_in_a_file_are_relative_to_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    text = '[data]\nmitdb = "recordings"\nshhs = "/absolute"\n[benchmarks]\nsleep_split = "a.csv"\n'
    (project / "deaps.toml").write_text(text)
    monkeypatch.chdir(elsewhere)
    settings = load_settings(config=project / "deaps.toml", overrides=["data.afdb=here"])
    assert settings.data.roots() == {
        "mitdb": project / "recordings", "shhs": Path("/absolute"), "afdb": Path("here"),
    }  # fmt: skip
    assert settings.benchmarks.sleep_split == project / "a.csv"
    assert settings.store.root == project / "store"
    monkeypatch.chdir(project)  # in its own folder they are as they stand there
    assert load_settings().data.roots()["mitdb"] == Path("recordings")
    assert load_settings().store.root == Path("store")


def test_unknown_preset_lists_the_known() -> None:
    with pytest.raises(DeapsError, match="did you mean 'paper'"):
        load_settings(preset="papper")


def test_missing_and_broken_files_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match="cannot read configuration"):
        load_settings(config=tmp_path / "absent.toml")
    (tmp_path / "broken.toml").write_text("[data\n")
    with pytest.raises(DeapsError, match="is not TOML"):
        load_settings(config=tmp_path / "broken.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b=3", 3),
        ("a.b=true", True),
        ("a.b=/x/y z", "/x/y z"),
        ('a.b="q"', "q"),
        ("a.b=[1]", [1]),
    ],
)
def test_override_values(text: str, value: object) -> None:
    assert parse_override(text) == {"a": {"b": value}}


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().quality.flat_s = 3.0  # type: ignore[misc]


TUNED = 'experiment.tuned.deaps=["training.learning_rate=1e-3", "deaps.tau=0.98"]'


def test_a_typed_setting_wins_over_what_a_preset_tuned() -> None:
    settings = load_settings(preset="open", overrides=["training.learning_rate=2e-4"])
    assert method_plan(settings, "pclr").training.learning_rate == 2e-4
    assert method_plan(settings, "tf-c").training.warmup == 100  # tuned, and nobody typed it


def test_a_file_wins_over_what_its_preset_tuned(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "open"\n[deaps]\ntau = 0.9\n')
    assert method_plan(load_settings(config=file), "deaps").model.deaps.tau == 0.9


def test_what_is_tuned_later_wins_over_what_was_typed_before() -> None:
    settings = load_settings(overrides=["training.learning_rate=2e-4", TUNED])
    assert method_plan(settings, "deaps").training.learning_rate == 1e-3
    assert method_plan(settings, "byol").training.learning_rate == 2e-4


@pytest.mark.parametrize("section", list(Settings.model_fields))
def test_every_section_has_the_one_strict_base(section: str) -> None:
    assert issubclass(type(getattr(Settings(), section)), SettingsSection)


@pytest.mark.parametrize("text", ["data.mitdb=", "store.root=  ", 'data.mitdb=""'])
def test_override_without_a_value_is_an_error(text: str) -> None:
    with pytest.raises(DeapsError, match=r"no value|is empty"):
        load_settings(overrides=[text])


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_number_that_is_none_is_an_error(value: str) -> None:
    with pytest.raises(DeapsError, match="finite number"):
        load_settings(overrides=[f"training.learning_rate={value}"])
