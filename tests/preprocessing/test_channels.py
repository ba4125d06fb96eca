"""The choice of the ECG lead by its label."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import load_settings
from preprocessing.channels import ANY_ECG, ECG_ALIASES, pick_channel, sounds_like_ecg
from preprocessing.config import SignalSettings
from preprocessing.recording import UnreadableRecordingError
from preprocessing.user_folder.files import list_channels
from tests.edf_files import beats, write_edf
from tests.wfdb_files import write_record

LABELS = SignalSettings().labels()


@pytest.mark.parametrize(
    "label",
    ["EKG-R", "ECG EKG2-EKG", "Lead II", "ECG1-ECG2", "ECG (LL-RA)", "ekg_1", "V4", "aVF", "MLIII"],
)
def test_labels_that_say_ecg_in_their_own_way_are_taken(label: str) -> None:
    index, _ = pick_channel(["EEG", label], LABELS)
    assert index == 1


@pytest.mark.parametrize(
    "label", ["EEG", "EEG I", "EEG ECG", "ECG HR", "EMG", "EOG", "A1", "RESP EKG", "ECG Smith", "V"]
)
def test_labels_of_other_signals_are_never_taken(label: str) -> None:
    assert not sounds_like_ecg(label)


def test_a_name_of_the_list_comes_before_a_looser_one() -> None:
    assert pick_channel(["Lead II", "ECG"], LABELS)[0] == 1


def test_a_looser_choice_is_noted() -> None:
    _, note = pick_channel(["EKG-R"], LABELS)
    assert note == "ECG channel by the sound of its name: read EKG-R"


def test_an_added_name_comes_last() -> None:
    labels = SignalSettings(channels_add=("X9",)).labels()
    assert pick_channel(["X9", "EKG-R"], labels)[0] == 1
    assert pick_channel(["EEG", "x9"], labels) == (1, None)


def test_a_list_of_ones_own_is_taken_literally() -> None:
    assert ANY_ECG not in SignalSettings(channels=("MY LEAD",)).labels()
    with pytest.raises(UnreadableRecordingError):
        pick_channel(["EKG-R"], ECG_ALIASES)


def test_the_reason_names_the_closest_channels_and_the_setting() -> None:
    labels = ["EEG", "C3", "C4", "EMG", "SaO2", "Pleth", "Thorax", "Smith John"]
    with pytest.raises(UnreadableRecordingError) as error:
        pick_channel(labels, LABELS)
    said = str(error.value)
    assert said.startswith("no ECG channel: 1 unusual label may be it and is not shown; ")
    assert "other closest are EEG, EMG, " in said
    assert "Smith" not in said
    assert said.endswith(
        "deaps channels FILE lists them all; give the label of the ECG to signal.channels_add"
    )


@pytest.mark.parametrize(
    ("label", "is_ecg"),
    [
        ("ECG, ECG recorded using bedside monitor, lead II", True),
        ("Resp, respiratory signal from the ECG", False),
        ("PPG, ECG-gated", False),
    ],
)
def test_what_follows_a_comma_only_describes_the_lead(label: str, is_ecg: bool) -> None:
    assert sounds_like_ecg(label) == is_ecg


def test_all_channels_of_a_file_are_listed_with_the_one_that_is_read(tmp_path: Path) -> None:
    write_edf(tmp_path / "a.edf", {"EEG": beats(12), "EKG-R": beats(12)})
    write_record(tmp_path, "r", {"V5": beats(12, 360), "MLII": beats(12, 360)})
    assert list_channels(tmp_path / "a.edf", LABELS) == [("EEG", 125, False), ("EKG-R", 125, True)]
    assert list_channels(tmp_path / "r.hea", LABELS) == [("V5", 360, False), ("MLII", 360, True)]
    assert not list_channels(tmp_path / "a.edf", ("X",))[1].is_read


def test_one_label_may_be_given_without_brackets() -> None:
    settings = load_settings(overrides=["signal.channels_add=CARDIO"])
    assert settings.signal.channels_add == ("CARDIO",)
