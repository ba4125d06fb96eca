"""PAF Prediction Challenge: two half hours of each subject's 24-hour recording, at 128 Hz."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from preprocessing.datasets.interface import register
from preprocessing.datasets.wfdb_dataset import WfdbDataSet, wfdb_records
from preprocessing.recording import FoundRecording

_NAME = re.compile(r"([npt])(\d+)")


class PafPrediction(WfdbDataSet):
    """PAF Prediction: records n and p of the learning set, t of the test set.

    Consecutive numbers (n01 and n02, t99 and t100) are two half hours of one 24-hour recording of
    one subject. They are not two visits, but the index counts them in its column ``visit``, 1
    and 2. Records whose names end in ``c`` continue another for five minutes and are left out.
    """

    name = "afpdb"
    label = "PAF Prediction (AFPDB)"
    about = "PAF Prediction Challenge, as PhysioNet ships it."
    physionet = "afpdb"
    leads = ("ECG0", "ECG", "ECG1")

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield the records; two consecutive numbers are one subject."""
        for stem, files in wfdb_records(root):
            match = _NAME.fullmatch(stem)
            if match is None:
                continue
            number = int(match.group(2))
            subject = f"{match.group(1)}{(number + 1) // 2:02d}"
            yield FoundRecording(self.name, stem, subject, 2 - number % 2, files)


register(PafPrediction())
