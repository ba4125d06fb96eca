"""One 8 h night on one core: our chain against the plain one, and its peak memory."""

from __future__ import annotations

from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from tests.bench.figure import Figure
from tests.bench.isolated import run_isolated


def measure(folder: Path) -> list[Figure]:
    """Return speed against the plain chain, and memory."""
    settings = SynthSettings(shhs_subjects=1, shhs_hours=8.0)
    shhs = DATASETS["shhs"]
    for record in shhs.records(settings):
        shhs.write_record(folder / "shhs", settings, record)
    night = max(folder.rglob("*.edf"))  # the last visit: 250 Hz, twice the first one's samples
    plain = run_isolated("tests.bench.night_plain", str(night))
    ours = run_isolated("tests.bench.night_ours", str(folder), night.stem)
    seen = {"plain_s": plain["s"], "ours_s": ours["s"]}
    return [
        Figure(
            "8 h night, EDF to published Parquet, four indices and beats, against the plain chain",
            plain["s"] / ours["s"], "times faster", 45, 60, seen=seen,
        ),
        Figure(
            "peak memory of a worker on an 8 h night (RssAnon)",
            ours["peak_mb"], "MB", 400, 250, higher=False,
        ),
    ]  # fmt: skip
