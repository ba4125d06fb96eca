"""The synthetic CPSC 2021: marks of rhythm as the real annotations have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from preprocessing.chain import label_windows
from preprocessing.config import SynthSettings
from preprocessing.datasets import DATASETS as READERS
from preprocessing.synth import DATASETS
from preprocessing.synth.cpsc2021 import Diagnosis, kind_of, people, segments_of

SETTINGS = SynthSettings(cpsc2021_people=6, cpsc2021_minutes=1.0)
FS = 200


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return DATASETS["cpsc2021"].write(tmp_path_factory.mktemp("cpsc2021"), SETTINGS)


def records(root: Path, says: Diagnosis) -> list[str]:
    stems = [str(path.with_suffix("")) for path in sorted(root.glob("*/*.hea"))]
    found = [stem for stem in stems if wfdb.rdheader(stem).comments == [str(says)]]
    assert found
    return found


def marks(stem: str) -> list[tuple[int, str]]:
    notes = wfdb.rdann(stem, "atr")
    return [
        (int(sample), note)
        for sample, symbol, note in zip(notes.sample, notes.symbol, notes.aux_note, strict=True)
        if symbol == "+"
    ]


def beats(stem: str) -> list[int]:
    notes = wfdb.rdann(stem, "atr")
    return [int(x) for x, s in zip(notes.sample, notes.symbol, strict=True) if s != "+"]


def test_the_default_cohort_has_none() -> None:
    assert DATASETS["cpsc2021"].records(SynthSettings()) == ()


def test_six_people_are_every_kind_in_both_parts() -> None:
    kinds = {(part, kind_of(part, subject)) for part, subject in people(SETTINGS)}
    parts = ("Training_set_I", "Training_set_II")
    assert kinds == {(part, kind) for part in parts for kind in Diagnosis}


def test_all_people_are_as_many_as_in_the_real_parts() -> None:
    everyone = people(SynthSettings(cpsc2021_people=105))
    subjects = {part: [s for p, s in everyone if p == part] for part, _ in everyone}
    assert subjects["Training_set_I"] == list(range(54))
    assert subjects["Training_set_II"] == list(range(54, 105))


def test_files_have_the_real_layout(root: Path) -> None:
    header = wfdb.rdheader(str(root / "Training_set_II/data_54_1"))
    assert (header.fs, header.sig_name, header.fmt) == (FS, ["I", "II"], ["16", "16"])
    assert (root / "RECORDS").read_text().splitlines()[0] == "Training_set_I/data_0_1"


def test_each_lead_fills_sixteen_bits(root: Path) -> None:
    units = wfdb.rdrecord(str(root / "Training_set_I/data_0_1"), physical=False).d_signal
    assert units.min(axis=0).tolist() == [-32767, -32767]
    assert units.max(axis=0).tolist() == [32767, 32767]


def test_people_without_af_have_no_marks(root: Path) -> None:
    for stem in records(root, Diagnosis.WITHOUT):
        assert marks(stem) == []
        assert len(beats(stem)) > 30


def test_persistent_af_is_marked_on_the_outer_samples(root: Path) -> None:
    for stem in records(root, Diagnosis.PERSISTENT):
        last = wfdb.rdheader(stem).sig_len - 1
        assert marks(stem) == [(0, "(AFIB"), (last, "(N")]
        assert (beats(stem)[0], beats(stem)[-1]) == (30, last - 29)
        assert "None" in wfdb.rdann(stem, "atr").aux_note


def test_paroxysmal_af_is_marked_beside_its_outer_beats(root: Path) -> None:
    for stem in records(root, Diagnosis.PAROXYSMAL):
        places = marks(stem)
        assert {note for _, note in places[::2]} <= {"(AFIB", "(AFL"}
        assert {note for _, note in places[1::2]} == {"(N"}
        assert {x + 30 for x, _ in places[::2]} <= set(beats(stem))
        assert {x - 30 for x, _ in places[1::2]} <= set(beats(stem))


def test_a_person_with_paroxysmal_af_has_records_without(root: Path) -> None:
    says = {
        path.stem: wfdb.rdheader(str(path.with_suffix(""))).comments[0]
        for path in root.glob("Training_set_I/data_1_*.hea")
    }
    assert says["data_1_1"] == Diagnosis.PAROXYSMAL
    assert says["data_1_2"] == Diagnosis.WITHOUT


def test_the_reader_finds_the_rhythms_that_were_made(root: Path) -> None:
    reader = READERS["cpsc2021"]
    for recording in reader.find(root):
        raw = reader.read(root, recording, ())
        labels, shares = label_windows(raw.rhythms, raw.signal.size // (10 * FS))
        name = recording.files[0][0].removesuffix(".hea")
        segments = segments_of(SETTINGS, name)
        pure = {label for label, share in zip(labels, shares, strict=True) if share == 1}
        assert pure <= {str(segment.rhythm) for segment in segments}
        assert not np.isnan(shares).any()
        assert raw.notes == ()
