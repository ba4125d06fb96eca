"""PhysioNet/CinC Challenge 2017: short recordings of one lead with one label each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from preprocessing.cohort import table_bytes
from preprocessing.datasets.interface import DataSet, register
from preprocessing.datasets.walk import list_files, list_folders
from preprocessing.recording import (
    CohortTables,
    Facts,
    FoundRecording,
    RawRecording,
    UnreadableRecordingError,
)
from storage.schema import SourceRole

_TRAINING = "training"
_VALIDATION = "validation"
_LABEL_FILES = ("REFERENCE-v3.csv", "REFERENCE.csv")
_LABEL_LINE = re.compile(
    r'\s*"?([^",]*/)?(?P<record>[^",/]+?)"?\s*,\s*"?(?P<label>[^",]*)"?\s*(,.*)?'
)
_LONGEST_LINE = 1000
"""A longer line is damage; the pattern would take hours for some."""

_RHYTHMS = {"N": "N", "A": "AFIB", "O": "O", "~": "~"}
"""The classes, in the rhythm codes of PhysioNet's annotations where they mean the same."""


class Challenge2017(DataSet):
    """Challenge 2017; the public validation set is a subset of the training set.

    A record in both folders is one recording, read from ``training`` and marked as validation.
    """

    name = "challenge2017"
    label = "Challenge 2017"
    about = "PhysioNet/CinC Challenge 2017, as PhysioNet ships it."
    physionet = "challenge-2017"
    has_tables = True

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield each record once, training first; a record is a subject of its own."""
        training = list(_records(root, _TRAINING if (root / _TRAINING).is_dir() else ""))
        names = {name for name, _ in training}
        others = (record for record in _records(root, _VALIDATION) if record[0] not in names)
        for name, files in [*training, *others]:
            yield FoundRecording(self.name, name, name, 1, files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the only lead."""
        from preprocessing.formats.matlab import read_mat_lead

        path, role = recording.files[0]
        if role is not SourceRole.SIGNAL:
            name = f"{recording.name}.mat"
            raise UnreadableRecordingError(f"header without its signal file: {name}")
        return read_mat_lead(root / path)

    def table_files(self, root: Path) -> list[Path]:
        """Return the label files, and the validation folder, whose names decide the split."""
        files = [_label_file(root, folder) for folder in (_TRAINING, _VALIDATION, "")]
        folder = root / _VALIDATION
        return [path for path in files if path] + ([folder] if folder.is_dir() else [])

    def tables(self, root: Path) -> CohortTables:
        """Return label, rhythm and split per recording; labels outside N, A, O, ~ are counted."""
        validation = dict(_records(root, _VALIDATION))
        labels, source, warnings = _labels(root)
        # Not quoted: where a table is damaged or out of place, it may be anything.
        if n_unknown := sum(label not in _RHYTHMS for label in labels.values()):
            warnings.append(f"{source}: {n_unknown:,} labels are none of N, A, O, ~: left out")
        facts = {
            name: Facts(
                label=label if label in _RHYTHMS else None,
                rhythm=_RHYTHMS.get(label),
                split="validation" if name in validation else "train",
            )
            for name, label in labels.items()
        }
        return CohortTables(facts, source, tuple(warnings))

    def fetch(self, folder: Path) -> None:
        """Download by file name, without opening headers: wfdb refuses the older ones."""
        from preprocessing.physionet import download_files

        for part, labels in ((_TRAINING, _LABEL_FILES[0]), (_VALIDATION, _LABEL_FILES[1])):
            download_files(
                self.physionet,
                folder,
                records_in=f"{self.physionet}/1.0.0/{part}",
                prefix=f"{part}/",
                suffixes=(".mat", ".hea"),
                extra=[f"{part}/{labels}"],
            )


def _records(root: Path, folder: str) -> Iterator[tuple[str, tuple[tuple[str, SourceRole], ...]]]:
    """Yield the records in a folder and below, each with the files that are there."""
    prefix = f"{folder}/" if folder else ""
    present = set(names := list_files(root / folder))
    stems = dict.fromkeys(name[:-4] for name in names if name.endswith((".mat", ".hea")))
    for stem in stems:
        roles = ((f"{stem}.mat", SourceRole.SIGNAL), (f"{stem}.hea", SourceRole.HEADER))
        yield stem, tuple((prefix + name, role) for name, role in roles if name in present)
    for sub in list_folders(root / folder):
        if sub != _VALIDATION:
            yield from _records(root, prefix + sub)


def _label_file(root: Path, folder: str) -> Path | None:
    present = [root / folder / name for name in _LABEL_FILES]
    return next((path for path in present if path.is_file()), None)


def _labels(root: Path) -> tuple[dict[str, str], str | None, list[str]]:
    """Return labels by record, the name of the file they come from, and warnings.

    Validation labels are read first, so that the training set's win where both have one.
    """
    labels: dict[str, str] = {}
    source, warnings = None, []
    for folder in (_VALIDATION, "", _TRAINING):
        if (path := _label_file(root, folder)) is None:
            continue
        source = path.name
        try:
            read, n_damaged = _read_labels(path)
        except UnreadableRecordingError as error:  # it would take too much memory
            warnings.append(f"{path.name}: not read: {error}")
            continue
        labels |= read
        if n_damaged:
            warnings.append(f"{path.name}: {n_damaged:,} lines are damaged: not read")
    if source is None:
        warnings.append(f"neither {' nor '.join(_LABEL_FILES)} is there: no labels")
    return labels, source, warnings


def _read_labels(path: Path) -> tuple[dict[str, str], int]:
    """Return the labels in a file by record, and how many lines are no record and label.

    Each line is read by itself: an open quote would hide all the lines after it.
    """
    labels, n_damaged = {}, 0
    text = table_bytes(path, n_columns=2).decode("utf-8-sig", "replace")
    for line in map(str.strip, text.splitlines()):
        if len(line) <= _LONGEST_LINE and (match := _LABEL_LINE.fullmatch(line)):
            labels[match["record"]] = match["label"].strip()
        elif line.strip(" ,"):
            n_damaged += 1
    return labels, n_damaged


register(Challenge2017())
