"""Recordings whose files name a person in every place a header has, and a search for traces."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import edfio
import numpy as np
from scipy.io import savemat

from tests.edf_files import MAGIC, beats, patch, signal_field, write_edf
from tests.preprocessing.datasets.test_folder import write_bdf, write_brainvision, write_gdf
from tests.wfdb_files import write_record

PATIENT_FIELD = slice(8, 88)
RECORDING_FIELD = slice(88, 168)

SURNAME, FIRST_NAME = "Qwyxzvrakh", "Jbkqvudzwy"
TECHNICIAN, DEVICE = "Tqvwkzypxj", "Kxwvqzdgbf"
HOSPITAL_CODE, STUDY_CODE = "HXQZVK7734915", "PZQJWX5521"
BORN = datetime.date(1931, 10, 17)
BORN_EDF = "17-OCT-1931"

WORDS = (SURNAME, FIRST_NAME, TECHNICIAN, DEVICE, HOSPITAL_CODE, STUDY_CODE)
DATES = (BORN_EDF, "1931-10-17", "17/10/1931", "99/10/1931", "17.10.1931", "19311017")
PATIENT = f"{HOSPITAL_CODE} F {BORN_EDF} {SURNAME}_{FIRST_NAME}"
RECORDING = f"Startdate 02-MAR-2002 {STUDY_CODE} {TECHNICIAN} {DEVICE}"
SENTENCE = f"{FIRST_NAME} {SURNAME}, born {BORN_EDF}, {HOSPITAL_CODE}; seen by {TECHNICIAN}"

PIECE_OF_TEXT = 4
"""Letters in a row that are a trace: what a header's shortest field can hold."""
PIECE_OF_BYTES = 6
"""In samples and hashes four letters turn up by chance."""


def traces(data: bytes | str, piece: int = PIECE_OF_TEXT) -> list[str]:
    """Return the pieces of planted words, and the planted dates, that are in ``data``."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    folded = raw.lower()
    cut = {word[i : i + piece] for word in WORDS for i in range(len(word) - piece + 1)}
    # Pieces of digits, or of letters up to f, turn up in numbers and hashes.
    wanted = {text for text in cut if not set(text.lower()) <= set("0123456789abcdef")}
    return sorted(
        text
        for text in wanted.union(DATES, WORDS)
        for encoding in ("utf-8", "utf-16-le")
        if text.lower().encode(encoding) in folded
    )


def traces_in_files(folders: Iterable[Path]) -> dict[str, list[str]]:
    """Return the traces in every file below some folders, and in the files' names."""
    found = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        if names := traces(path.name):
            found[f"{path} (name)"] = names
        if path.is_file() and (inside := traces(path.read_bytes(), PIECE_OF_BYTES)):
            found[str(path)] = inside
    return found


def identified(path: Path) -> Path:
    """Write the identity into the header fields that EDF, BDF and GDF have for it."""
    patch(path, PATIENT_FIELD, PATIENT)
    return patch(path, RECORDING_FIELD, RECORDING)


def edf(path: Path) -> None:
    identified(write_edf(path, {"ECG": beats(25)}))


def edf_plus(path: Path, *, seed: int = 11) -> None:
    """Write an EDF+ whose annotations name the person, too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    edfio.Edf(
        [edfio.EdfSignal(beats(25, seed=seed), 125, label="ECG", physical_dimension="mV")],
        patient=edfio.Patient(
            code=HOSPITAL_CODE, sex="F", birthdate=BORN, name=f"{SURNAME}_{FIRST_NAME}"
        ),
        recording=edfio.Recording(
            startdate=datetime.date(2002, 3, 2),
            hospital_administration_code=STUDY_CODE,
            investigator_technician_code=TECHNICIAN,
            equipment_code=DEVICE,
        ),
        annotations=[edfio.EdfAnnotation(3, None, SENTENCE)],
        data_record_duration=1,
    ).write(path)


def edf_plus_d(path: Path) -> None:
    edf_plus(path, seed=1)
    patch(path, slice(192, 197), "EDF+D")


def edf_plus_d_without_times(path: Path) -> None:
    """Write a discontinuous EDF+ whose annotations have no times, but names."""
    edf_plus_d(path)
    path.write_bytes(path.read_bytes().replace(b"\x14\x14", SENTENCE[:2].encode()))


def without_version(path: Path) -> None:
    """Write an EDF that starts with the patient's identification."""
    edf(path)
    path.write_bytes(path.read_bytes()[MAGIC.stop :])


def overlong_patient(path: Path) -> None:
    """Write an EDF whose patient field is so long that the numbers after it are words."""
    edf(path)
    data = path.read_bytes()
    path.write_bytes(data[:88] + (SURNAME * 20).encode() + data[88:])


def overflowing_recording(path: Path) -> None:
    """Write an EDF whose recording field runs over date, time and size of the header."""
    edf(path)
    patch(path, slice(88, 192), (RECORDING + " " + SURNAME * 9)[: 192 - 88])


def no_ecg(path: Path) -> None:
    identified(write_edf(path, {"EEG": beats(25)}))


def truncated_header(path: Path) -> None:
    edf(path)
    path.write_bytes(path.read_bytes()[:300])


def bdf(path: Path) -> None:
    write_bdf(path, beats(25, 256))
    identified(path)


def gdf(path: Path) -> None:
    write_gdf(path, beats(25, 256))
    identified(path)


def broken_bdf(path: Path) -> None:
    bdf(path)
    patch(path, slice(236, 244), SURNAME[:8])


def brainvision(path: Path) -> None:
    write_brainvision(path.parent, path.stem, beats(25, 250))
    path.write_text(path.read_text(encoding="utf-8") + f"\n[Comment]\n{SENTENCE}\n", "utf-8")


def wfdb(path: Path) -> None:
    write_record(
        path.parent, path.stem, {"II": beats(25, 360)}, comments=[SENTENCE], rhythms={0: "N"}
    )


def wfdb_with_free_text(path: Path) -> None:
    """Write a record whose rhythm annotation is a sentence."""
    rhythms = {0: "N", 720: SENTENCE}
    write_record(
        path.parent, path.stem, {"II": beats(25, 360, seed=2)}, comments=[SENTENCE], rhythms=rhythms
    )


def wfdb_with_impossible_date(path: Path) -> None:
    """Write a record whose header has a date that no calendar has."""
    write_record(path.parent, path.stem, {"II": beats(25, 360, seed=3)}, comments=[SENTENCE])
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([f"{first} 10:00:00 99/10/1931", *rest]))


def edf_fields_of_words(path: Path) -> None:
    """Write an EDF with the name as unit, transducer, filter, reserved fields and other labels."""
    write_edf(path, {"ECG": beats(25, seed=4), "EEG": beats(25, seed=5)})
    patch(path, slice(197, 236), SURNAME)
    for index in (0, 1):
        patch(path, signal_field(2, index, 16, 80), SENTENCE[:80])
        patch(path, signal_field(2, index, 96, 8), SURNAME[:8])
        patch(path, signal_field(2, index, 136, 80), SENTENCE[:80])
        patch(path, signal_field(2, index, 224, 32), SENTENCE[:32])
    patch(path, signal_field(2, 1, 0, 16), SURNAME)


def edf_labels_of_words(path: Path) -> None:
    write_edf(path, {"EEG": beats(25, seed=6), "EMG": beats(25)})
    patch(path, signal_field(2, 0, 0, 16), SURNAME)


def wfdb_unit_of_words(path: Path) -> None:
    write_record(path.parent, path.stem, {"II": beats(25, 360, seed=7)})
    path.write_text(path.read_text().replace("/mV", f"/{SURNAME}"))


def wfdb_descriptions_of_words(path: Path) -> None:
    write_record(path.parent, path.stem, {"II": beats(25, 360, seed=8)})
    path.write_text(path.read_text().replace(" II\n", f" {FIRST_NAME} {SURNAME}\n"))


def wfdb_file_of_words(path: Path) -> None:
    write_record(path.parent, path.stem, {"II": beats(25, 360, seed=9)})
    path.write_text(path.read_text().replace(f"{path.stem}.dat", f"{SURNAME}.dat"))


def wfdb_with_capitals(path: Path) -> None:
    """Write a record whose rhythm annotation looks like a code and is a name."""
    rhythms = {0: "N", 720: SURNAME[:6].upper()}
    write_record(
        path.parent,
        path.stem,
        {"II": beats(25, 360, seed=10)},
        comments=[SENTENCE],
        rhythms=rhythms,
    )


def wfdb_of_words(path: Path) -> None:
    path.write_text(f"{SENTENCE}\n{SENTENCE}\n")


OK: dict[str, Callable[[Path], object]] = {
    "plain.edf": edf,
    "plus.edf": edf_plus,
    "plus-d.edf": edf_plus_d,
    "a.bdf": bdf,
    "a.gdf": gdf,
    "brain.vhdr": brainvision,
    "r1.hea": wfdb,
    "r2.hea": wfdb_with_free_text,
    "capitals.hea": wfdb_with_capitals,
    "date.hea": wfdb_with_impossible_date,
    "fields.edf": edf_fields_of_words,
    "units.hea": wfdb_unit_of_words,
}
"""Files that are read."""

QUARANTINED: dict[str, Callable[[Path], object]] = {
    "no-version.edf": without_version,
    "overlong.edf": overlong_patient,
    "overflowing.edf": overflowing_recording,
    "no-ecg.edf": no_ecg,
    "short.edf": truncated_header,
    "no-times.edf": edf_plus_d_without_times,
    "broken.bdf": broken_bdf,
    "labels.edf": edf_labels_of_words,
    "descriptions.hea": wfdb_descriptions_of_words,
    "file.hea": wfdb_file_of_words,
    "words.hea": wfdb_of_words,
}
"""Files that cannot be read, so that the reason is about their headers."""


def write_folder(folder: Path) -> Path:
    """Write a folder of all these files, with a table that has a column of names."""
    folder.mkdir(parents=True)
    rows = ["file,subject,visit,sex,age,name,born"]
    for number, (name, write) in enumerate((OK | QUARANTINED).items()):
        write(folder / name)
        rows.append(f"{name},s{number},1,F,70,{SURNAME} {FIRST_NAME},{BORN_EDF}")
    rows.append(f"{SURNAME} {FIRST_NAME},s99,{SURNAME},{FIRST_NAME},{BORN_EDF},,")
    (folder / "subjects.csv").write_text("\n".join(rows) + "\n")
    return folder


def write_cohorts(folder: Path) -> dict[str, Path]:
    """Write the folder, one SHHS night and one record with comments; return the roots by name."""
    edf(folder / "shhs/polysomnography/edfs/shhs1/shhs1-200001.edf")
    no_ecg(folder / "shhs/polysomnography/edfs/shhs1/shhs1-200002.edf")
    comments = [f"69 M 1085 1629 x1 {SENTENCE}", SENTENCE]
    write_record(folder / "mitdb", "100", {"MLII": beats(25, 360)}, comments=comments)
    write_challenge(folder / "challenge2017")
    return {
        "challenge2017": folder / "challenge2017",
        "shhs": folder / "shhs",
        "mitdb": folder / "mitdb",
        "folder": write_folder(folder / "own"),
    }


def write_challenge(folder: Path) -> None:
    """Write a record of Challenge 2017 whose header and label file name a person."""
    folder.mkdir(parents=True)
    samples = np.rint(beats(25, 300) * 1000).astype(np.int16)[None]
    savemat(folder / "A00001.mat", {"val": samples}, format="4")
    lead = f"A00001.mat 16+24 1000/{SURNAME} 16 0 0 0 0 {SENTENCE}"
    (folder / "A00001.hea").write_text(f"A00001 1 300 {samples.size}\n{lead}\n# {SENTENCE}\n")
    (folder / "REFERENCE-v3.csv").write_text(f"A00001,{SURNAME}\n{SENTENCE}\n")


def planted_files(roots: Iterable[Path]) -> Iterator[Path]:
    """Yield the files that a recording starts with."""
    suffixes = {Path(name).suffix for name in OK}
    for root in roots:
        yield from (path for path in sorted(root.rglob("*")) if path.suffix in suffixes)
