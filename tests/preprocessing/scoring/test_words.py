"""The words of scorers."""

from __future__ import annotations

import pytest

from preprocessing.scoring import kind_of, own_kind_of, stage_of


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("Sleep stage W", "W"), ("Sleep stage R", "REM"), ("N2", "N2"), ("rem", "REM"),
        ("Sleep stage 4", "S4"), ("S3", "S3"), ("Sleep stage ?", "unscored"),
        ("Movement time", "movement"), ("REM sleep", "REM"), ("stage N3", "N3"),
    ],
)  # fmt: skip
def test_stages_have_many_names(text: str, stage: str) -> None:
    assert stage_of(text) == stage


@pytest.mark.parametrize("text", ["", "Lights off", "N4", "stage", "Hypopnea", "Mr Smith wakes"])
def test_other_text_names_no_stage(text: str) -> None:
    assert stage_of(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Obstructive apnea", "obstructive_apnea"), ("Obstructive Apnoea", "obstructive_apnea"),
        ("Central sleep apnea", "central_apnea"), ("Mixed Apnea", "mixed_apnea"),
        ("Hypopnea", "hypopnea"), ("Arousal (ASDA)", "arousal"),
        ("SpO2 desaturation", "desaturation"), ("SpO2 artifact", "artifact"),
        ("RERA", "effort_arousal"),
        ("PLM (Left)", "limb_movement"), ("Periodic breathing", "periodic_breathing"),
        ("Bathroom break", "other"),
    ],
)  # fmt: skip
def test_kinds_of_events_have_many_names(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_a_table_of_ones_own_may_use_a_plain_word() -> None:
    assert own_kind_of("Seizure") == "seizure"
    assert own_kind_of("Hypopnea") == "hypopnea"
    assert own_kind_of("call Dr. Smith, 0171-1234") == "other"
