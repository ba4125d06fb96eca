"""``python -m tests.fuzz TARGET [-max_total_time=60]``: fuzz a target and keep its corpus."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["preprocessing.formats", "tests.fuzz.targets"]):
    from tests.fuzz.targets import CORPUS, TARGETS, attempt


def main() -> None:
    """Fuzz one target with atheris; new inputs that reach new code are kept in the corpus."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python -m tests.fuzz {'|'.join(TARGETS)} [libFuzzer options]")
    name = sys.argv.pop(1)
    atheris.Setup([*sys.argv, str(CORPUS / name)], lambda data: attempt(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
