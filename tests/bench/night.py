"""One 8 h night on one core: our chain against the plain one, and its peak memory."""

from __future__ import annotations

from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from tests.bench.figure import Figure
from tests.bench.isolated import run_isolated


def measure(folder: Path) -> list[Figure]:
    """Return speed with and without qSQI, and memory."""
    settings = SynthSettings(shhs_subjects=1, shhs_hours=8.0)
    shhs = DATASETS["shhs"]
    for record in shhs.records(settings):
        shhs.write_record(folder / "shhs", settings, record)
    night = max(folder.rglob("*.edf"))  # the last visit: 250 Hz, twice the first one's samples
    plain = run_isolated("tests.bench.night_plain", str(night))
    three = run_isolated("tests.bench.night_ours", str(folder), night.stem, "three")
    four = run_isolated("tests.bench.night_ours", str(folder), night.stem, "four")
    seen = {"plain_s": plain["s"], "three_index_s": three["s"], "with_qsqi_s": four["s"]}
    return [
        Figure(
            "8 h night, EDF to published Parquet, three indices, against the plain chain",
            plain["s"] / three["s"], "times faster", 25, 40, seen=seen,
        ),
        Figure(
            "the same with qSQI (two detectors on every window)",
            plain["s"] / four["s"], "times faster", 12, 30, seen=seen,
        ),
        Figure(
            "peak memory of a worker on an 8 h night (RssAnon)",
            max(three["peak_mb"], four["peak_mb"]), "MB", 400, 250, higher=False,
        ),
    ]  # fmt: skip
