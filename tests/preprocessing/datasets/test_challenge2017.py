"""Challenge 2017: records, labels and the validation subset."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from preprocessing.datasets import DATASETS
from preprocessing.recording import UnreadableRecordingError
from tests.edf_files import beats

CHALLENGE = DATASETS["challenge2017"]


def write_record(folder: Path, name: str, seconds: float = 30, stamp: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    samples = np.rint(beats(seconds, 300) * 1000).astype(np.int16)[None]
    savemat(folder / f"{name}.mat", {"val": samples}, format="4")
    header = f"{name} 1 300 {samples.size} {stamp}\n{name}.mat 16+24 1000/mV 16 0 -127 0 0 ECG\n"
    (folder / f"{name}.hea").write_text(header)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("A00001", "A00002", "A00003"):
        write_record(tmp_path / "training" / "A00", name)
    (tmp_path / "validation").mkdir()
    for suffix in (".mat", ".hea"):
        shutil.copy(tmp_path / "training" / "A00" / f"A00002{suffix}", tmp_path / "validation")
    labels = "A00/A00001,N\nA00/A00002,A\nA00/A00003,O\n"
    (tmp_path / "training" / "REFERENCE-v3.csv").write_text(labels)
    return tmp_path


def test_record_in_both_folders_is_found_once(root: Path) -> None:
    assert [r.name for r in CHALLENGE.find(root)] == ["A00001", "A00002", "A00003"]


def test_labels_rhythms_and_split_come_from_the_tables(root: Path) -> None:
    tables = CHALLENGE.tables(root)
    facts = {name: (f.label, f.rhythm, f.split) for name, f in tables.facts.items()}
    assert facts == {
        "A00001": ("N", "N", "train"),
        "A00002": ("A", "AFIB", "validation"),
        "A00003": ("O", "O", "train"),
    }
    assert tables.source == "REFERENCE-v3.csv"


def test_unknown_label_is_left_out_and_counted(root: Path) -> None:
    (root / "training" / "REFERENCE-v3.csv").write_text("A00001,N\nA00002,X\nA00003,X\n")
    tables = CHALLENGE.tables(root)
    assert tables.facts["A00002"].label is None
    assert tables.warnings == ("REFERENCE-v3.csv: 2 labels are none of N, A, O, ~: left out",)


def test_open_quote_costs_its_own_line_alone(root: Path) -> None:
    table = root / "training" / "REFERENCE-v3.csv"
    padding = "".join(f"A00/B{i:05d},N\n" for i in range(20_000))
    table.write_text(f'"\n{padding}{table.read_text()}')
    tables = CHALLENGE.tables(root)
    assert tables.facts["A00002"].label == "A"
    assert "REFERENCE-v3.csv: 1 lines are damaged: not read" in tables.warnings


def test_no_label_file_is_a_warning(root: Path) -> None:
    (root / "training" / "REFERENCE-v3.csv").unlink()
    assert "no labels" in CHALLENGE.tables(root).warnings[0]


def test_signal_is_in_millivolts(root: Path) -> None:
    raw = CHALLENGE.read(root, next(iter(CHALLENGE.find(root))), ())
    assert (raw.fs, raw.channel) == (300, "ECG")
    np.testing.assert_allclose(raw.signal, beats(30, 300), atol=1e-3)


@pytest.mark.parametrize("stamp", ["05:05:15 1/05/2000", "1/05/2000 05:05:15", ""])
def test_header_with_date_and_time_in_any_order_is_read(tmp_path: Path, stamp: str) -> None:
    write_record(tmp_path / "training", "A00009", 9, stamp)
    raw = CHALLENGE.read(tmp_path, next(iter(CHALLENGE.find(tmp_path))), ())
    assert raw.signal.size == 2700


def test_broken_mat_is_refused(root: Path) -> None:
    (root / "training" / "A00" / "A00001.mat").write_bytes(b"not matlab at all")
    with pytest.raises(UnreadableRecordingError, match="not a MATLAB file"):
        CHALLENGE.read(root, next(iter(CHALLENGE.find(root))), ())


def test_missing_header_is_refused(root: Path) -> None:
    (root / "training" / "A00" / "A00001.hea").unlink()
    with pytest.raises(UnreadableRecordingError, match="signal file without its header"):
        CHALLENGE.read(root, next(iter(CHALLENGE.find(root))), ())


@pytest.mark.real
def test_real_subset_has_the_class_counts_of_its_readme(real_data: Callable[[str], Path]) -> None:
    facts = CHALLENGE.tables(real_data("challenge-2017")).facts.values()
    train = Counter(f.label for f in facts if f.split == "train")
    assert train == {"N": 480, "A": 300, "O": 380, "~": 40}
    assert sum(f.split == "validation" for f in facts) == 300


def test_header_without_its_mat_is_listed_and_refused(root: Path) -> None:
    (root / "training" / "A00" / "A00001.mat").unlink()
    first = next(iter(CHALLENGE.find(root)))
    assert first.name == "A00001"
    with pytest.raises(UnreadableRecordingError, match="header without its signal file"):
        CHALLENGE.read(root, first, ())


def test_two_leads_are_not_one(root: Path) -> None:
    savemat(root / "training" / "A00" / "A00001.mat", {"val": np.zeros((2, 9000), np.int16)})
    with pytest.raises(
        UnreadableRecordingError, match=r"not one lead: 'val' is int16 of shape \(2, 9000\)"
    ):
        CHALLENGE.read(root, next(iter(CHALLENGE.find(root))), ())


def test_byte_order_mark_costs_no_label(root: Path) -> None:
    labels = root / "training" / "REFERENCE-v3.csv"
    labels.write_bytes(b"\xef\xbb\xbf" + labels.read_bytes())
    assert CHALLENGE.tables(root).facts["A00001"].label == "N"
