"""What the figures of a report come from: versions, hardware, digests, and times of stages."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from deaps.evaluation.document import DatasetLabels, Provenance, Stage
from deaps.training.run_folder import to_toml
from flows.config import Settings
from storage.files import digest_of
from storage.packages import code_version, installed_versions
from storage.snapshot import read_snapshot

if TYPE_CHECKING:
    from deaps.evaluation.representations import FeatureFile

_PACKAGES = (
    "deaps",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "neurokit2",
    "duckdb",
    "pyarrow",
    "prefect",
)

_SOURCE_DIGESTS = """
SELECT sha256 FROM sources JOIN recordings USING (recording_id)
WHERE dataset = coalesce($dataset, dataset) ORDER BY sha256
"""


class Stopwatch:
    """Times of stages, in the order in which they ended."""

    def __init__(self, earlier: Iterable[Stage] = ()) -> None:
        self.stages: list[Stage] = list(earlier)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        started = time.perf_counter()
        yield
        self.stages.append(Stage(name=name, seconds=time.perf_counter() - started))


def provenance(
    settings: Settings,
    index: duckdb.DuckDBPyConnection,
    files: Sequence[FeatureFile],
    labels: DatasetLabels,
    stages: Sequence[Stage],
    command: str,
) -> Provenance:
    """Return versions, hardware, digests, seeds and times of an evaluation."""
    text = to_toml(settings.model_dump(mode="json", exclude={"data", "execution"}))
    count, sources_sha256 = digest_of_sources(index)
    return Provenance(
        settings_digest=settings_digest(settings),
        code=code_version(),
        sources=count,
        sources_sha256=sources_sha256,
        snapshot_id=read_snapshot(index).snapshot_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        versions=versions(),
        hardware=hardware(settings.execution.device),
        settings=text,
        digests=_encoder_digests(files) | _dataset_digests(index, labels),
        seeds={"training": settings.training.seed, "benchmarks": settings.benchmarks.seed},
        stages=tuple(stages),
    )


def settings_digest(settings: Settings) -> str:
    """Return the digest of all settings that a figure can depend on: none of the machine's."""
    values = settings.model_dump(mode="json", exclude={"data", "execution", "refresh"})
    del values["store"]["root"]
    return digest_of(values)


def digest_of_sources(
    index: duckdb.DuckDBPyConnection, dataset: str | None = None
) -> tuple[int, str]:
    """Return how many source files a snapshot or a data set has, and the SHA-256 of their SHA-256s.

    Sorted, a line each: ``sort`` and ``sha256sum`` say the same.
    """
    rows = index.execute(_SOURCE_DIGESTS, {"dataset": dataset}).fetchall()
    digests = [digest for (digest,) in rows]
    lines = "".join(f"{digest}\n" for digest in digests)
    return len(digests), hashlib.sha256(lines.encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of what figures can depend on."""
    installed = installed_versions(_PACKAGES)
    return {name: installed.get(name, "not installed") for name in ("python", *_PACKAGES)}


def hardware(device: str) -> dict[str, str]:
    """Return processor, cores, memory and the device that encoders run on."""
    # Imported here: a pipeline with nothing to do needs no torch.
    from deaps.training.device import choose_device

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{pages / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "device": str(choose_device(device)),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def _encoder_digests(files: Sequence[FeatureFile]) -> dict[str, str]:
    return {
        f"encoder {file.representation}{_seed(file)}": file.source.encoder_sha256
        for file in files
        if file.step is None and file.source.encoder is not None
    }


def _seed(file: FeatureFile) -> str:
    return "" if file.seed is None else f", seed {file.seed}"


def _dataset_digests(index: duckdb.DuckDBPyConnection, labels: DatasetLabels) -> dict[str, str]:
    rows = index.execute("SELECT dataset FROM datasets ORDER BY dataset").fetchall()
    return {f"data set {labels[name]}": digest_of_sources(index, name)[1] for (name,) in rows}
