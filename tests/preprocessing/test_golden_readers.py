"""What every reader makes of one file of its format: a change of it asks for a new version.

A store keeps the windows of old readers until the reader's version in `preprocessing/config.py` is
raised; then `deaps scan` says what is done again. If a test here fails by intention, raise the
version and put the new digest beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from preprocessing.config import READER_VERSIONS, SCORING_VERSION, TABLES_VERSION
from preprocessing.datasets import DATASETS
from preprocessing.datasets.folder import read_file
from preprocessing.formats.edf import read_edf_annotations
from preprocessing.formats.scoring_xml import read_epoch_table, read_nsrr_xml, read_profusion_xml
from preprocessing.formats.wfdb_annotations import read_st_annotations
from preprocessing.recording import RawRecording
from preprocessing.scoring import ScoringDraft
from preprocessing.user_folder.table import read_subject_table
from tests.preprocessing.scoring.made_scorings import nsrr, profusion
from tests.torture.truth import _annotation

N = 20 * 250
DIGITAL = (np.arange(N) * np.arange(N) * 7919 + np.arange(N) * 31) % 401 - 200
"""Whole numbers that look like noise, the same on every machine."""


def edf_header(labels: list[str], *, records: int, size: int, bits: int, reserved: str) -> bytes:
    """Return the header of an EDF or BDF with records of a second."""
    n, most = len(labels), 2 ** (bits - 1)
    magic = b"0".ljust(8) if bits == 16 else b"\xffBIOSEMI"
    fixed = magic + b" " * 160 + b"01.01.2022.30.00" + str(256 * (n + 1)).ljust(8).encode()
    fixed += reserved.ljust(44).encode() + str(records).ljust(8).encode() + b"1".ljust(8)
    rows = [
        (labels, 16), ([""] * n, 80), (["mV"] * n, 8), (["-5"] * n, 8), (["5"] * n, 8),
        ([str(-most)] * n, 8), ([str(most - 1)] * n, 8), ([""] * n, 80),
        ([str(size)] * n, 8), ([""] * n, 32),
    ]  # fmt: skip
    fields = "".join(text.ljust(width) for texts, width in rows for text in texts)
    return fixed + str(n).ljust(4).encode() + fields.encode()


def edf(folder: Path) -> Path:
    frames = np.stack([DIGITAL.reshape(20, 250), DIGITAL[::-1].reshape(20, 250)], axis=1)
    header = edf_header(["EEG", "ECG"], records=20, size=250, bits=16, reserved="")
    (folder / "r.edf").write_bytes(header + (frames * 50).astype("<i2").tobytes())
    return folder / "r.edf"


def bdf(folder: Path) -> Path:
    header = edf_header(["ECG"], records=20, size=250, bits=24, reserved="24BIT")
    samples = (DIGITAL * 9000).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3]
    (folder / "r.bdf").write_bytes(header + samples.tobytes())
    return folder / "r.bdf"


def discontinuous(folder: Path) -> Path:
    """Write an EDF+D with a gap of 5 s after the tenth second."""
    header = edf_header(["ECG", "EDF Annotations"], records=20, size=250, bits=16, reserved="EDF+D")
    parts = []
    for second in range(20):
        onset = second + 5 * (second >= 10)
        note = f"+{onset}\x14\x14\0".encode().ljust(500, b"\0")
        parts.append(
            (DIGITAL[250 * second : 250 * (second + 1)] * 50).astype("<i2").tobytes() + note
        )
    (folder / "r.edf").write_bytes(header + b"".join(parts))
    return folder / "r.edf"


def wfdb_with(lines: str, data: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "r.dat").write_bytes(data)
        (folder / "r.hea").write_text(lines)
        notes = _annotation(0, 28, "(N\0") + _annotation(1000, 28, "(AFIB\0")
        (folder / "r.atr").write_bytes(notes + b"\0\0")
        return folder / "r.hea"

    return write


TWO = np.column_stack([DIGITAL, DIGITAL[::-1]]).astype("<i2").tobytes()
WFDB = {
    "format 16, two leads": wfdb_with(
        f"r 2 250 {N} 22:30:00\nr.dat 16 200 16 0 0 0 0 V5\nr.dat 16 200 16 0 0 0 0 II\n", TWO
    ),
    "format 16, four samples a frame": wfdb_with(
        f"r 1 62.5 {N // 4}\nr.dat 16x4 200(10)/uV 16 0 0 0 0 II\n", DIGITAL.astype("<i2").tobytes()
    ),
    "format 212": wfdb_with(
        f"r 2 360 {N // 2}\nr.dat 212 200 12 0 0 0 0 MLII\nr.dat 212 200 12 0 0 0 0 V1\n",
        (DIGITAL + 300).astype("u1").repeat(2)[: N * 3 // 2].tobytes(),
    ),
    "format 80, no gain": wfdb_with(
        f"r 1 128 {N}\nr.dat 80 0 8 0 0 0 0 ECG\n", (DIGITAL // 2 + 128).astype("u1").tobytes()
    ),
    "format 16 with a skew": wfdb_with(
        f"r 2 250 {N - 9}\nr.dat 16:3 200 16 0 0 0 0 II\nr.dat 16 200 16 0 0 0 0 V5\n", TWO
    ),
}


def mat(folder: Path) -> Path:
    training = folder / "training"
    training.mkdir()
    savemat(training / "A00001.mat", {"val": DIGITAL[None].astype(np.int16)}, format="4")
    (training / "A00001.hea").write_text(
        f"A00001 1 300 {N}\nA00001.mat 16+24 1000/mV 16 0 -127 0 0 ECG\n"
    )
    (training / "REFERENCE.csv").write_text("A00001,N\n")
    return training / "A00001.mat"


def brainvision(folder: Path) -> Path:
    lines = [
        "Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]", "Codepage=UTF-8",
        "DataFile=r.eeg", "DataFormat=BINARY", "DataOrientation=MULTIPLEXED", "NumberOfChannels=1",
        "SamplingInterval=4000", "[Binary Infos]", "BinaryFormat=INT_16", "[Channel Infos]",
        "Ch1=ECG,,0.5,µV", "",
    ]  # fmt: skip
    (folder / "r.vhdr").write_text("\n".join(lines), encoding="utf-8")
    (folder / "r.eeg").write_bytes(DIGITAL.astype("<i2").tobytes())
    return folder / "r.vhdr"


def digest_of_recording(raw: RawRecording) -> str:
    """Return a digest of samples in steps of 10 nV, and of all that is said about them."""
    samples = np.where(np.isnan(raw.signal), -(2**31), np.rint(raw.signal.astype(float) * 1e5))
    said = (raw.fs, raw.channel, raw.truncated, raw.rhythms, raw.notes, raw.clock_s)
    content = samples.astype("<i4").tobytes() + repr(said).encode()
    return hashlib.sha256(content).hexdigest()[:16]


READERS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "edf: EDF": ("edf", edf),
    "edf: BDF": ("edf", bdf),
    "edf: EDF+D": ("edf", discontinuous),
    **{f"wfdb: {name}": ("wfdb", write) for name, write in WFDB.items()},
    "mat: Challenge 2017": ("mat", mat),
    "mne: BrainVision": ("mne", brainvision),
}

GOLDEN = {
    ("edf: EDF", 1): "b0d266acf1d6a323",
    ("edf: BDF", 1): "04b34ad4f551548b",
    ("edf: EDF+D", 1): "112185a7cb10dc22",
    ("wfdb: format 16, two leads", 2): "85960735e4909de7",
    ("wfdb: format 16, four samples a frame", 2): "f3bc8bac3f94fbec",
    ("wfdb: format 212", 2): "4dd9c6a8ce282185",
    ("wfdb: format 80, no gain", 2): "0462ac9d5fd6d0d4",
    ("wfdb: format 16 with a skew", 2): "019674078f1cd92f",
    ("mat: Challenge 2017", 2): "0fb5626240ed6bf8",
    ("mne: BrainVision", 1): "ebfced01485a9175",
}
"""Digests by format and version of its reader."""


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_what_its_version_gave(tmp_path: Path, name: str) -> None:
    reader, write = READERS[name]
    path = write(tmp_path)
    if reader == "mat":
        (found,) = DATASETS["challenge2017"].find(tmp_path)
        raw = DATASETS["challenge2017"].read(tmp_path, found, ("ECG",))
    else:
        raw = read_file(path, ("ECG", "II", "MLII"))
    assert digest_of_recording(raw) == GOLDEN[name, READER_VERSIONS[reader]]


def edf_plus(folder: Path) -> Path:
    header = edf_header(["EDF Annotations"], records=3, size=250, bits=16, reserved="EDF+C")
    texts = ("Sleep stage W", "Sleep stage N2", "Sleep stage R")
    parts = [
        f"+{k}\x14\x14\0+{30 * k}\x1530\x14{text}\x14\0".encode().ljust(500, b"\0")
        for k, text in enumerate(texts)
    ]
    (folder / "r.edf").write_bytes(header + b"".join(parts))
    return folder / "r.edf"


def st(folder: Path) -> ScoringDraft:
    notes = (
        _annotation(1, 22, "W\0"),
        _annotation(7500, 22, "2 H\0"),
        _annotation(7500, 22, "R\0"),
    )
    (folder / "r.st").write_bytes(b"".join(notes) + b"\0\0")
    (folder / "r.hea").write_text("r 1 250 22500\nr.dat 16 200 16 0 0 0 0 ECG\n")
    return read_st_annotations(folder / "r")


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


EVENTS = "file,start_s,duration_s,event\nr.edf,0,30,W\nr.edf,30,30,S4\nr.edf,31,12,Hypopnea\n"
SCORINGS: dict[str, Callable[[Path], ScoringDraft | None]] = {
    "NSRR": lambda folder: read_nsrr_xml(written(folder, "n.xml", nsrr())),
    "Profusion": lambda folder: read_profusion_xml(written(folder, "p.xml", profusion())),
    "EDF+": lambda folder: read_edf_annotations(edf_plus(folder)),
    "events.csv": lambda folder: read_epoch_table(written(folder, "events.csv", EVENTS))[0][
        "r.edf"
    ],
    "st": st,
}
GOLDEN_SCORINGS = {
    ("NSRR", 3): "dfb9dedb2b2bdd00",
    ("Profusion", 3): "39669e9030c31493",
    ("EDF+", 3): "12d63cfdc57f6ccb",
    ("events.csv", 3): "8a4174a2d8a035af",
    ("st", 3): "1c7af3b62b5af5c1",
}
"""Digests by format and `SCORING_VERSION`."""


@pytest.mark.parametrize("name", SCORINGS)
def test_a_scoring_is_read_as_its_version_read_it(tmp_path: Path, name: str) -> None:
    draft = SCORINGS[name](tmp_path)
    assert draft is not None
    assert draft.stages
    content = repr((draft.stages, draft.events, draft.notes)).encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    assert digest == GOLDEN_SCORINGS[name, SCORING_VERSION]


TABLE = (
    "Filename;Patient ID;id;Date;Gender;Age\n"
    "a.edf;P1;1;20.05.2024;w;50,5\nb.edf;P1;2;01.06.2024;w;51\nc.edf;P2;3;03.03.2024;M;\n"
)
GOLDEN_TABLES = {2: "48dd0a3773e99850"}
"""Digests by `TABLES_VERSION`."""


def test_a_table_of_subjects_is_read_as_its_version_read_it(tmp_path: Path) -> None:
    path = written(tmp_path, "subjects.csv", TABLE)
    table = read_subject_table(path, ["a.edf", "b.edf", "c.edf"])
    digest = hashlib.sha256(repr(sorted(table.lines.items())).encode()).hexdigest()[:16]
    assert digest == GOLDEN_TABLES[TABLES_VERSION]
