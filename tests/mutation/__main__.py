"""``python -m tests.mutation``: plant small faults in a seeded sample of places; see who notices.

mutmut makes the faults (``[tool.mutmut]`` in pyproject.toml) in the folder ``mutants`` and runs the
tests that reach each. It goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

MUTANTS = Path("mutants")
BAR = 0.9
"""Share of mutants that the tests must kill."""
KILLED, SURVIVED, UNTESTED = "killed", "survived", "reached by no test"
SKIPPED, SUSPICIOUS, INTERRUPTED = "skipped", "suspicious", "interrupted"
_FAILED, _HUNG, _CRASHED = {1, 3}, {36, 24, -24, 152, 255}, {-11, -9}
_STATUS: dict[int, str] = {
    **dict.fromkeys(_FAILED | _HUNG | _CRASHED, KILLED),
    0: SURVIVED,
    2: INTERRUPTED,
    5: UNTESTED,
    33: UNTESTED,
    34: SKIPPED,
    35: SUSPICIOUS,
}
"""mutmut's exit codes (its ``status_by_exit_code``); it calls any other suspicious, too."""


def main() -> None:
    """Try a sample of mutants and print how many the tests killed, and which they did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20261117)
    given = parser.parse_args()
    _mutmut("deaps.losses.static*__mutmut_1")  # makes all of them, and finds each one's tests
    drawn = draw(results(), given.sample, given.seed)
    untried = [name for name, code in results().items() if name in drawn and is_untried(code)]
    if untried:
        _mutmut(*untried)
    tried = {name: results()[name] for name in drawn}
    print(summary(tried))
    if killed_share(tried) < BAR:
        sys.exit(1)


def results(folder: Path = MUTANTS) -> dict[str, int | None]:
    """Return mutmut's exit code of every mutant, None for those not tried yet."""
    found: dict[str, int | None] = {}
    for path in sorted(folder.rglob("*.meta")):
        found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def draw(mutants: dict[str, int | None], n: int, seed: int) -> list[str]:
    """Return ``n`` mutants, the same for the same seed and code."""
    return sorted(random.Random(seed).sample(sorted(mutants), min(n, len(mutants))))


def is_untried(code: int | None) -> bool:
    """Return whether a mutant is still to be tried: somebody may have stopped mutmut at it."""
    return code is None or _STATUS.get(code) == INTERRUPTED


def summary(tried: dict[str, int | None]) -> str:
    """Return the share that was killed, and the others by name."""
    status = {
        name: _STATUS.get(code, SUSPICIOUS) for name, code in tried.items() if code is not None
    }
    killed = Counter(status.values())[KILLED]
    others = [f"{what}: {name}" for name, what in sorted(status.items()) if what != KILLED]
    first = f"{killed} of {len(status)} mutants killed ({100 * killed_share(tried):.1f} %)"
    return "\n".join([first, *others])


def killed_share(tried: dict[str, int | None]) -> float:
    """Return the share that was killed of those that were tried."""
    codes = [code for code in tried.values() if code is not None]
    return sum(_STATUS.get(code) == KILLED for code in codes) / max(1, len(codes))


def _mutmut(*names: str) -> None:
    command: Sequence[str] = [str(Path(sys.executable).with_name("mutmut")), "run", *names]
    subprocess.run([*command, "--max-children", "1"], check=False)


if __name__ == "__main__":
    main()
