"""Why a section has nothing to show."""

from __future__ import annotations

from deaps.evaluation import Evaluation
from deaps.report.parts import Notice


def notices(evaluation: Evaluation, *subjects: str, empty: bool) -> tuple[Notice, ...]:
    """Return what the evaluation says is absent under these names ("pca: no data at ...").

    Where a section is ``empty`` and nothing is said, a sentence says at least that.
    """
    told = [text for text in evaluation.absent if _subject(text) in subjects]
    if not told and empty:
        told = [f"{subjects[0]}: not part of this evaluation"]
    return tuple(Notice(f"Not shown: {text}") for text in told)


def _subject(text: str) -> str:
    """Return what a text is about: "pca" of "pca of BYOL: too few windows"."""
    return text.partition(":")[0].partition(" of ")[0].strip().lower().replace("_", " ")
