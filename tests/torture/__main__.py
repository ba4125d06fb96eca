"""Run the rows of the table and print it: fault, tries, held, seconds, seed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.torture import planted
from tests.torture.child import BrokenError
from tests.torture.project import warm_up
from tests.torture.relations import RELATIONS
from tests.torture.results import CHECKS
from tests.torture.row import Row
from tests.torture.rows import ROWS

RESULTS = Path("torture.jsonl")


@dataclass
class Tally:
    """How a row went."""

    row: Row
    tries: int
    held: int = 0
    seconds: float = 0.0
    seed: int = 0
    failures: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the row as a line of a Markdown table."""
        return (
            f"| {self.row.fault} | {self.tries} | {self.held} | {self.seconds:.0f} | {self.seed} |"
        )


def run_row(row: Row, numbers: Sequence[int], seed: int, folder: Path) -> Tally:
    """Try a fault some times; each try has a seed of its own, so that it can be repeated."""
    tally, started = Tally(row, len(numbers), seed=seed), time.monotonic()
    for number in numbers:
        place = folder / row.name / f"try-{number}"
        place.mkdir(parents=True)
        try:
            row.attempt(np.random.default_rng([seed, number]), number, place)
        except BrokenError as error:
            tally.failures.append(f"{row.name}, try {number}, seed {seed}: {error}")
        else:
            tally.held += 1
            shutil.rmtree(place, ignore_errors=True)
    tally.seconds = time.monotonic() - started
    return tally


def code_version() -> str:
    """Return the commit, with a + where files differ from it."""
    git = ["git", "describe", "--always", "--dirty=+"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def keep(tally: Tally, numbers: str | None) -> None:
    """Add the row's line to the results, with seed, code version and, if chosen, which tries."""
    facts = {
        "row": tally.row.name, "tries": tally.tries, "held": tally.held,
        "seconds": round(tally.seconds, 1), "seed": tally.seed, "numbers": numbers,
        "code": code_version(),
        "at": time.strftime("%Y-%m-%d %H:%M"), "failures": tally.failures[:20],
    }  # fmt: skip
    with RESULTS.open("a") as file:
        file.write(json.dumps(facts) + "\n")


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument(
        "--only", default="", help=f"rows, by comma: {', '.join(r.name for r in ROWS)}"
    )
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--tries", type=int, help="tries of each row instead of its own number")
    parser.add_argument("--try", dest="numbers", help="only these tries: 4,10 or 8-15")
    parser.add_argument("--share", type=float, help="take about this many seconds of all rows")
    parser.add_argument(
        "--check-plants", action="store_true", help="plant each bug, and see that a row fails"
    )
    parser.add_argument("--plant", choices=planted.BUGS, help="plant a bug; the rows must fail")
    return parser.parse_args()


def planned(options: argparse.Namespace) -> list[tuple[Row, int]]:
    """Return the rows to run, each with its tries."""
    names = [name for name in options.only.split(",") if name]
    if unknown := set(names) - {row.name for row in ROWS}:
        sys.exit(f"no row {', '.join(unknown)}; there are {', '.join(row.name for row in ROWS)}")
    rows = [row for row in ROWS if not names or row.name in names]
    if options.share is None:
        return [(row, options.tries or row.tries) for row in rows]
    shared = [row for row in rows if row.in_tests]
    each_s = options.share / len(shared)
    return [(row, max(1, min(row.tries, int(each_s / row.weight)))) for row in shared]


def chosen(text: str) -> list[int]:
    """Return the numbers of tries that a text such as 4,8-10 names."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def check_plants(seed: int) -> None:
    """Plant every bug in turn; exit with 1 unless its row notices each."""
    rows, missed = {row.name: row for row in ROWS}, []
    for bug, (name, which) in planted.CAUGHT_BY.items():
        sentences = {"relations": [r.sentence for r in RELATIONS], "results": [*CHECKS]}
        numbers = (
            [n for n, sentence in enumerate(sentences[name]) if which in sentence]
            if name in sentences
            else chosen(which)
        )
        os.environ[planted.VARIABLE] = bug
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            tally = run_row(rows[name], numbers, seed, Path(folder))
        del os.environ[planted.VARIABLE]
        print(f"| {bug} | {name} | {len(tally.failures)} of {len(numbers)} fail |", flush=True)
        missed += [] if tally.failures else [bug]
    sys.exit(f"not noticed: {', '.join(missed)}" if missed else 0)


def main() -> None:
    """Run the rows; exit with 1 if anything did not hold."""
    options = arguments()
    if options.check_plants:
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            warm_up(Path(folder))
        check_plants(options.seed)
    if options.plant:
        os.environ[planted.VARIABLE] = options.plant
    print(f"code {code_version()}\n| fault | tries | held | seconds | seed |", flush=True)
    print("| --- | --- | --- | --- | --- |", flush=True)
    failures = []
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        warm_up(Path(folder) / "warm")
        for row, tries in planned(options):
            numbers = chosen(options.numbers) if options.numbers else range(tries)
            tally = run_row(row, numbers, options.seed, Path(folder))
            print(tally.line(), flush=True)
            failures += tally.failures
            if not options.plant:
                keep(tally, options.numbers)
    print(*failures, sep="\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
