"""China Physiological Signal Challenge 2021: Holter pieces of people with and without AF."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from preprocessing.datasets.interface import register
from preprocessing.datasets.wfdb_dataset import WfdbDataSet, header_path, wfdb_records, with_rhythms
from preprocessing.recording import CohortTables, Facts, FoundRecording, RawRecording, RhythmChange

_PARTS = {"Training_set_I": "set-I", "Training_set_II": "set-II"}
"""Folder of each part of the data set, and its name in the index's column ``split``."""

_NAME = re.compile(r"data_(\d+)_(\d+)")
_WITHOUT_AF = "non atrial fibrillation"
_NORMAL = "N"


class Cpsc2021(WfdbDataSet):
    """CPSC 2021: 1,436 records of 105 people, in two parts that share nobody.

    Record ``data_57_4`` is the fourth of subject 57. Records are pieces of Holter recordings, not
    visits, but the index counts each in its column ``visit``, so that pairs across them can be
    drawn.
    """

    name = "cpsc2021"
    label = "CPSC 2021"
    about = "China Physiological Signal Challenge 2021, as PhysioNet ships it."
    physionet = "cpsc2021"
    has_tables = True
    # II first, as in `ECG_ALIASES`: it is nearest to MLII, by which MIT-ARR is read.
    leads = ("II", "I")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records of both parts; a record's number is its visit."""
        for folder in _PARTS:
            for stem, files in wfdb_records(root, folder):
                if match := _NAME.fullmatch(stem):
                    subject, visit = match.groups()
                    yield FoundRecording(self.name, stem, subject, int(visit), files)

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the lead with its rhythms from the first sample to the last."""
        from preprocessing.formats.wfdb_record import header_comments

        header = header_path(root, recording)
        raw = with_rhythms(super().read(root, recording, channels), header)
        return _with_all_rhythms(raw, without_af=_WITHOUT_AF in header_comments(header))

    def tables(self, root: Path) -> CohortTables:
        """Return the part of each record, which is its folder."""
        facts = {
            stem: Facts(split=part)
            for folder, part in _PARTS.items()
            for stem, _ in wfdb_records(root, folder)
        }
        return CohortTables(facts)

    def fetch(self, folder: Path) -> None:
        """Download by file name: annotations come along whether PhysioNet lists them or not."""
        from preprocessing.physionet import download_files

        slug = self.physionet
        suffixes = (".hea", ".dat", ".atr")
        download_files(slug, folder, records_in=f"{slug}/1.0.0", suffixes=suffixes)


def _with_all_rhythms(raw: RawRecording, *, without_af: bool) -> RawRecording:
    """Return the recording with the rhythms that its annotations leave out.

    Only AF is marked: ``(AFIB`` or ``(AFL`` where it begins, ``(N`` where it ends. So the rhythm
    is normal before the first mark, and from the first sample on where the header says that there
    is no AF. An end on the last sample or behind it closes AF that lasts to the end of the record;
    it is no change, and would make a last window that is all AF look mixed.
    """
    last_s = (raw.signal.size - 1) / raw.fs
    rhythms = tuple(change for change in raw.rhythms if change.start_s < last_s)
    if not raw.rhythms and not without_af:
        note = f"no rhythm annotated, and the header does not say {_WITHOUT_AF!r}: label left out"
        return replace(raw, notes=(*raw.notes, note))
    if not rhythms or rhythms[0].start_s > 0:
        rhythms = (RhythmChange(0.0, _NORMAL), *rhythms)
    return replace(raw, rhythms=rhythms)


register(Cpsc2021())
