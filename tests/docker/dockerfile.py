"""A Dockerfile as a list of instructions."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from tests.docker.compose_file import DOCKER

DOCKERFILE = DOCKER / "Dockerfile"


class Instruction(NamedTuple):
    """One instruction, its continued lines joined."""

    name: str
    text: str


def instructions() -> list[Instruction]:
    """Return the instructions, without comments."""
    lines = [li for li in DOCKERFILE.read_text().splitlines() if not li.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Instruction(*line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def last_stage() -> list[Instruction]:
    """Return the instructions of the image that is kept."""
    found = instructions()
    start = max(number for number, one in enumerate(found) if one.name == "FROM")
    return found[start:]


def copied_from_context() -> list[str]:
    """Return what is copied from the build's context."""
    sources: list[str] = []
    for instruction in instructions():
        if instruction.name == "COPY" and "--from=" not in instruction.text:
            words = [word for word in instruction.text.split() if not word.startswith("--")]
            sources += words[:-1]
    return sources


def image_environment() -> dict[str, str]:
    """Return the variables that the image sets."""
    words = [word for one in last_stage() if one.name == "ENV" for word in shlex.split(one.text)]
    return dict(word.split("=", 1) for word in words)
