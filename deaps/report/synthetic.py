"""Synthetic data say so: in the title, above the page, and in every caption."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from deaps.evaluation.document import Evaluation
from deaps.report.parts import Beside, Figure, Map, Matrices, Part, Section, Table
from deaps.report.results import dataset_label
from deaps.report.wording import listed

_MARK = "Synthetic data."


def report_title(evaluation: Evaluation) -> str:
    """Return the title, which says if the data are synthetic."""
    return f"{evaluation.title} (synthetic data)" if evaluation.synthetic else evaluation.title


def synthetic_banner(evaluation: Evaluation) -> str | None:
    """Return what stands above the page; None where every recording is of a person."""
    if not evaluation.synthetic:
        return None
    names = listed(dataset_label(evaluation, name) for name in evaluation.synthetic)
    verb = "is" if len(evaluation.synthetic) == 1 else "are"
    return (
        f"Synthetic data: {names} {verb} made by deaps synth, and no person was recorded. Nothing "
        "here says anything about patients, about the real data sets or about the paper."
    )


def marked_synthetic(sections: Iterable[Section], evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the sections; if data are synthetic, every caption begins with that."""
    if not evaluation.synthetic:
        return tuple(sections)
    return tuple(replace(s, parts=tuple(map(_marked, s.parts))) for s in sections)


def _marked(part: Part) -> Part:
    if isinstance(part, Beside):
        return Beside(tuple(map(_marked, part.parts)))
    if isinstance(part, Table | Figure | Matrices | Map):
        return replace(part, caption=f"{_MARK} {part.caption}")
    return part
