"""docs/scale.md: its estimates are what its rates give."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
NIGHTS, CORES = (1, 100, 8444), (2, 16, 64)
WINDOWS_A_NIGHT = 2880
STEPS = 30_000
WINDOWS_EMBEDDED = 20e6


def rates() -> dict[str, float]:
    """Return the measured rates by their short name, from the first table of the page."""
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([\d.,]+) ", PAGE.read_text(), re.MULTILINE)
    return {name: float(value.replace(",", "")) for name, value in rows}


def duration(seconds: float) -> str:
    """Return a time to two digits, in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(seconds)} s"


def size(megabytes: float) -> str:
    """Return a size to two digits, in the unit that suits it."""
    return (
        f"{_two_digits(megabytes / 1000)} GB"
        if megabytes >= 1000
        else f"{_two_digits(megabytes)} MB"
    )


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{float(f'{value:.2g}'):g}"


def row(title: str, cells: list[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def time_rows(rate: dict[str, float]) -> list[str]:
    """Return the rows of the table of times; a night is the work of one core."""
    embed_s = WINDOWS_A_NIGHT / rate["embed_rate"]
    return [
        *(
            row(
                f"preprocess, {cores} cores",
                [
                    duration(n * rate["night_s"] / min(cores, n) + publish_s(rate, n))
                    for n in NIGHTS
                ],
            )
            for cores in CORES
        ),
        *(
            row(f"embed, {cores} cores", [duration(n * embed_s / min(cores, n)) for n in NIGHTS])
            for cores in CORES
        ),
    ]


def publish_s(rate: dict[str, float], nights: int) -> float:
    return rate["publish_s"] * nights * WINDOWS_A_NIGHT / 1e6


def disk_rows(rate: dict[str, float]) -> list[str]:
    """Return the rows of the table of disk space."""
    windows = [n * WINDOWS_A_NIGHT for n in NIGHTS]
    return [
        row("source files", [size(n * rate["source_mb"]) for n in NIGHTS]),
        row("window files", [size(n * rate["file_mb"]) for n in NIGHTS]),
        row("index", [size(n * rate["index_bytes"] / 1e6) for n in windows]),
        row("embeddings of one encoder", [size(n * 128 * 4 / 1e6) for n in windows]),
    ]


def core_rows(rate: dict[str, float]) -> list[str]:
    """Return the rows by number of cores: memory, the disk's speed, and a training."""
    read_mb = NIGHTS[-1] * rate["source_mb"]
    return [
        row("memory of the workers", [size(n * rate["worker_mb"]) for n in CORES]),
        row(
            "what the disk must deliver so that it does not slow 8,444 nights",
            [f"{size(read_mb / (NIGHTS[-1] * rate['night_s'] / n))} a second" for n in CORES],
        ),
        row(
            "30,000 steps of DEAPS at batch 256",
            [duration(STEPS * rate["step_s"] / n) for n in CORES],
        ),
    ]


def report_rows(_: dict[str, float]) -> list[str]:
    """Return what the table says of embedding for the paper's report, a beginning of each row."""
    others, tfc = (_number(pattern) for pattern in (r"windows at (\d+) a", r"million at ([\d,]+)"))
    windows = {"tfc": WINDOWS_EMBEDDED / 6, "others": WINDOWS_EMBEDDED * 5 / 6}
    core_s = windows["others"] / others + windows["tfc"] / tfc
    tfc_flop, others_flop = _number(r"needs (\d+) MFLOP"), _number(r"others (\d+) MFLOP")
    flop = (windows["tfc"] * tfc_flop + windows["others"] * others_flop) * 1e6
    peak_s = flop / (_number(r"peak of ([\d.]+) TFLOP") * 1e12)
    return [
        f"| 1 core | {duration(core_s)} |",
        f"| {duration(core_s / 64)}, if it scales without loss |",
        f"| RTX 3070 | {duration(peak_s)} at its peak",
        f"(float32), {duration(4 * peak_s)} at a quarter of it | arithmetic alone: "
        f"{flop / 1e15:.2g} PFLOP",
    ]


def _number(pattern: str) -> float:
    found = re.search(pattern, PAGE.read_text())
    assert found, pattern
    return float(found[1].replace(",", ""))


@pytest.mark.parametrize("rows", [time_rows, disk_rows, core_rows, report_rows])
def test_every_estimate_follows_from_the_rates(
    rows: Callable[[dict[str, float]], list[str]],
) -> None:
    text = PAGE.read_text()
    assert [line for line in rows(rates()) if line not in text] == []
