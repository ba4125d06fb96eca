"""MIT-ARR: leads, subjects, age and sex, rhythms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.datasets import DATASETS
from storage.schema import Sex, SourceRole
from tests.edf_files import beats
from tests.preprocessing.datasets.reading import read, two_leads
from tests.wfdb_files import write_record


def test_lead_is_chosen_by_name_not_by_position(tmp_path: Path) -> None:
    write_record(tmp_path, "114", two_leads(20, 360, "V5", "MLII"))
    raw = read("mitdb", tmp_path, "114")
    assert raw.channel == "MLII"
    np.testing.assert_allclose(raw.signal, -beats(20, 360, seed=2), atol=1 / 200)


def test_record_without_mlii_uses_v5(tmp_path: Path) -> None:
    write_record(tmp_path, "102", two_leads(20, 360, "V5", "V2"))
    raw = read("mitdb", tmp_path, "102")
    assert (raw.channel, raw.notes) == ("V5", ("no annotation file",))


def test_age_and_sex_come_from_the_first_comment(tmp_path: Path) -> None:
    write_record(tmp_path, "201", two_leads(20, 360, "MLII", "V1"), comments=["68 M 1960 2851 x1"])
    raw = read("mitdb", tmp_path, "201")
    assert (raw.age, raw.sex) == (68, Sex.MALE)


def test_201_and_202_are_one_subject(tmp_path: Path) -> None:
    for name in ("201", "202", "203"):
        write_record(tmp_path, name, two_leads(11, 360, "MLII", "V1"))
    subjects = {r.name: (r.subject, r.visit) for r in DATASETS["mitdb"].find(tmp_path)}
    assert subjects == {"201": ("201", 1), "202": ("201", 2), "203": ("203", 1)}


def test_rhythms_are_read_without_bracket_and_nul(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(40, 360, "MLII", "V1"), rhythms={36: "AFIB", 7200: "N"})
    rhythms = read("mitdb", tmp_path, "203").rhythms
    assert [(r.start_s, r.rhythm) for r in rhythms] == [(0.1, "AFIB"), (20.0, "N")]


def test_unknown_rhythm_is_left_out_and_counted(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(40, 360, "MLII", "V1"), rhythms={0: "N", 3600: "WHAT"})
    raw = read("mitdb", tmp_path, "203")
    assert [r.rhythm for r in raw.rhythms] == ["N", None]
    assert raw.notes == ("unknown rhythm (1x): label left out",)


@pytest.mark.real
@pytest.mark.parametrize(("name", "channel"), [("114", 1), ("201", 0)])
def test_real_lead_equals_what_wfdb_reads(
    real_data: Callable[[str], Path], name: str, channel: int
) -> None:
    root = real_data("mitdb")
    expected = wfdb.rdrecord(str(root / name), channels=[channel]).p_signal[:, 0]
    np.testing.assert_allclose(read("mitdb", root, name).signal, expected, atol=1e-4)


@pytest.mark.real
def test_real_mit_arr_has_eight_records_with_atrial_fibrillation(
    real_data: Callable[[str], Path],
) -> None:
    root = real_data("mitdb")
    with_afib = [
        r.name
        for r in DATASETS["mitdb"].find(root)
        if any(c.rhythm == "AFIB" for c in DATASETS["mitdb"].read(root, r, ()).rhythms)
    ]
    assert with_afib == ["201", "202", "203", "210", "217", "219", "221", "222"]


def test_header_signal_and_annotations_have_their_roles(tmp_path: Path) -> None:
    write_record(tmp_path, "203", two_leads(20, 360, "MLII", "V1"), rhythms={0: "N"})
    (recording,) = DATASETS["mitdb"].find(tmp_path)
    assert dict(recording.files) == {
        "203.hea": SourceRole.HEADER,
        "203.dat": SourceRole.SIGNAL,
        "203.atr": SourceRole.ANNOTATION,
    }
