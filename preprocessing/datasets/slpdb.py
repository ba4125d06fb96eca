"""MIT-BIH Polysomnographic Database: 18 records of 16 men at 250 Hz, with stages and apneas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from preprocessing.cohort import parse_age, parse_sex
from preprocessing.datasets.interface import register
from preprocessing.datasets.wfdb_dataset import WfdbDataSet, header_path, wfdb_records
from preprocessing.recording import FoundRecording, RawRecording
from storage.schema import Scoring, SourceRole

_NAME = re.compile(r"(slp\d+)([a-z])?")
_PERSON = re.compile(r"(\d+|x)\s+([MF])\b")


class MitPolysomnographic(WfdbDataSet):
    """MIT-BIH Polysomnographic; slp01a and slp01b are one person's night in two parts.

    So are slp02a and slp02b. The index counts the parts in its column ``visit``, but they are not
    two visits.
    """

    name = "slpdb"
    label = "MIT-BIH Polysomnographic"
    about = "MIT-BIH Polysomnographic, as PhysioNet ships it."
    physionet = "slpdb"
    leads = ("ECG",)

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records, with the ``.st`` file of each."""
        for stem, files in wfdb_records(root):
            match = _NAME.fullmatch(stem)
            part = match.group(2) if match else None
            scoring = f"{stem}.st"
            sources = ((scoring, SourceRole.SCORING),) if (root / scoring).is_file() else ()
            yield FoundRecording(
                self.name,
                stem,
                match.group(1) if match else stem,
                1 + ord(part) - ord("a") if part else 1,
                (*files, *sources),
            )

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the ECG; age and sex stand in the header's first comment."""
        from preprocessing.formats.wfdb_record import header_comments

        header = header_path(root, recording)
        raw = super().read(root, recording, channels)
        comments = header_comments(header)
        match = _PERSON.match(comments[0]) if comments else None
        if match is None:
            return raw
        return replace(raw, age=parse_age(match.group(1)), sex=parse_sex(match.group(2)))

    def scoring(
        self, root: Path, recording: FoundRecording, *, duration_s: float, truncated: bool
    ) -> Scoring:
        """Return stages and events of the ``.st`` file."""
        from preprocessing.formats.wfdb_annotations import read_st_annotations
        from preprocessing.scoring import ScoringDraft, fit_to_signal, to_scoring

        if all(role is not SourceRole.SCORING for _, role in recording.files):
            return to_scoring(ScoringDraft(notes=["no .st file"]))
        draft = read_st_annotations(header_path(root, recording).with_suffix(""))
        return to_scoring(fit_to_signal(draft, duration_s))


register(MitPolysomnographic())
