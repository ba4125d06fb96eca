"""CPSC 2021: parts, subjects, and rhythms that the annotations leave out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb

from preprocessing.chain import label_windows
from preprocessing.datasets import DATASETS
from tests.flows.inline import ask, run, settings_for
from tests.preprocessing.datasets.reading import read, two_leads
from tests.wfdb_files import write_record

CPSC = DATASETS["cpsc2021"]
FS = 200
WITHOUT_AF = "non atrial fibrillation"
PAROXYSMAL = "paroxysmal atrial fibrillation"
PERSISTENT = "persistent atrial fibrillation"


def write(
    root: Path,
    name: str,
    *,
    part: str = "Training_set_I",
    seconds: float = 40,
    says: str = PAROXYSMAL,
    rhythms: dict[int, str] | None = None,
) -> None:
    """Write a record with a beat at 0.5 s, as every real .atr holds beats."""
    leads = two_leads(seconds, FS, "I", "II")
    write_record(root / part, name, leads, fs=FS, fmt="16", comments=[says])
    notes = {sample: ("+", f"({rhythm}") for sample, rhythm in (rhythms or {}).items()}
    annotations = sorted({100: ("N", ""), **notes}.items())
    wfdb.wrann(
        name,
        "atr",
        np.array([sample for sample, _ in annotations]),
        symbol=[symbol for _, (symbol, _) in annotations],
        aux_note=[note for _, (_, note) in annotations],
        write_dir=str(root / part),
    )


def rhythms_of(root: Path, name: str) -> list[tuple[float, str | None]]:
    return [(change.start_s, change.rhythm) for change in read("cpsc2021", root, name).rhythms]


def test_first_number_is_the_subject_and_second_the_visit(tmp_path: Path) -> None:
    write(tmp_path, "data_3_12")
    write(tmp_path, "data_60_1", part="Training_set_II")
    found = {r.name: (r.subject, r.visit) for r in CPSC.find(tmp_path)}
    assert found == {"data_3_12": ("3", 12), "data_60_1": ("60", 1)}


def test_the_folder_is_the_part_in_the_index(tmp_path: Path) -> None:
    write(tmp_path / "data", "data_3_1")
    write(tmp_path / "data", "data_60_1", part="Training_set_II")
    settings = settings_for(tmp_path / "store", cpsc2021=tmp_path / "data")
    run(settings)
    rows = ask(settings, "SELECT name, split, n_windows FROM recordings ORDER BY name")
    assert rows == [("data_3_1", "set-I", 4), ("data_60_1", "set-II", 4)]


def test_lead_ii_is_read_though_it_comes_second(tmp_path: Path) -> None:
    write(tmp_path, "data_3_1", says=WITHOUT_AF)
    raw = read("cpsc2021", tmp_path, "data_3_1")
    assert (raw.channel, raw.fs, raw.notes) == ("II", FS, ())
    np.testing.assert_allclose(raw.signal, two_leads(40, FS, "I", "II")["II"], atol=1 / 200)


def test_record_without_lead_ii_uses_i(tmp_path: Path) -> None:
    leads = two_leads(20, FS, "I", "V1")
    write_record(tmp_path / "Training_set_I", "data_3_1", leads, fs=FS, fmt="16")
    assert read("cpsc2021", tmp_path, "data_3_1").channel == "I"


def test_rhythm_is_normal_before_the_first_mark(tmp_path: Path) -> None:
    write(tmp_path, "data_3_1", rhythms={2000: "AFIB", 4000: "N", 5000: "AFL", 6000: "N"})
    assert rhythms_of(tmp_path, "data_3_1") == [
        (0.0, "N"), (10.0, "AFIB"), (20.0, "N"), (25.0, "AFL"), (30.0, "N"),
    ]  # fmt: skip


def test_person_without_af_is_normal_throughout(tmp_path: Path) -> None:
    write(tmp_path, "data_3_1", says=WITHOUT_AF)
    raw = read("cpsc2021", tmp_path, "data_3_1")
    labels, shares = label_windows(raw.rhythms, 4)
    assert (labels, shares.tolist(), raw.notes) == (["N"] * 4, [1.0] * 4, ())


@pytest.mark.parametrize("closing", [7999, 8000])
def test_af_to_the_end_fills_the_last_window(tmp_path: Path, closing: int) -> None:
    write(tmp_path, "data_3_1", says=PERSISTENT, rhythms={0: "AFIB", closing: "N"})
    labels, shares = label_windows(read("cpsc2021", tmp_path, "data_3_1").rhythms, 4)
    assert (labels, shares.tolist()) == (["AFIB"] * 4, [1.0] * 4)


def test_record_without_marks_that_should_have_some_has_no_label(tmp_path: Path) -> None:
    write(tmp_path, "data_3_1", says=PERSISTENT)
    raw = read("cpsc2021", tmp_path, "data_3_1")
    assert raw.rhythms == ()
    assert raw.notes == (
        "no rhythm annotated, and the header does not say 'non atrial fibrillation': "
        "label left out",
    )


def test_fetch_asks_for_annotations_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    lists = {"cpsc2021/1.0.0": ["Training_set_I/data_0_1"]}
    monkeypatch.setattr(wfdb, "get_record_list", lists.__getitem__)
    monkeypatch.setattr(wfdb, "dl_files", lambda *args: asked.append(args))
    CPSC.fetch(tmp_path / "cpsc2021")
    files = [f"Training_set_I/data_0_1{suffix}" for suffix in (".hea", ".dat", ".atr")]
    assert asked == [("cpsc2021", str(tmp_path / "cpsc2021"), files)]


@pytest.mark.real
def test_real_parts_have_54_and_51_people_and_share_nobody(
    real_data: Callable[[str], Path],
) -> None:
    root = real_data("cpsc2021")
    parts = {name: facts.split for name, facts in CPSC.tables(root).facts.items()}
    people: dict[str | None, set[str]] = {}
    for recording in CPSC.find(root):
        people.setdefault(parts[recording.name], set()).add(recording.subject)
    assert {part: len(subjects) for part, subjects in people.items()} == {"set-I": 54, "set-II": 51}
    assert not people["set-I"] & people["set-II"]


def expected_labels(stem: str, n_windows: int) -> list[str]:
    """Return the rhythm of each window as a rhythm for each sample tells it."""
    header, notes = wfdb.rdheader(stem), wfdb.rdann(stem, "atr")
    rhythm = np.full(header.sig_len, "N", dtype="<U4")
    for sample, symbol, note in zip(notes.sample, notes.symbol, notes.aux_note, strict=True):
        if symbol == "+" and sample < header.sig_len - 1:
            rhythm[sample:] = note.strip("(\0")
    windows = rhythm[: n_windows * 10 * FS].reshape(n_windows, 10 * FS)
    return [row[0] if (row == row[0]).all() else "mixed" for row in windows]


@pytest.mark.real
def test_real_rhythms_equal_those_that_wfdb_reads(real_data: Callable[[str], Path]) -> None:
    root = real_data("cpsc2021")
    wrong = {}
    for recording in CPSC.find(root):
        raw = CPSC.read(root, recording, ())
        n_windows = raw.signal.size // (10 * FS)
        labels, shares = label_windows(raw.rhythms, n_windows)
        pure = [
            label if share == 1 else "mixed"
            for label, share in zip(labels, shares.tolist(), strict=True)
        ]
        stem = str(root / recording.files[0][0]).removesuffix(".hea")
        if pure != expected_labels(stem, n_windows):
            wrong[recording.name] = pure
    assert wrong == {}


@pytest.mark.real
def test_real_lead_equals_what_wfdb_reads(real_data: Callable[[str], Path]) -> None:
    root = real_data("cpsc2021")
    signal = read("cpsc2021", root, "data_97_3").signal
    expected = wfdb.rdrecord(str(root / "Training_set_II/data_97_3"), channels=[1]).p_signal[:, 0]
    np.testing.assert_allclose(signal, expected, atol=1e-4)
