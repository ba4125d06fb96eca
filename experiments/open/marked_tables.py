"""Tables in Markdown, written between the marks ``<!-- table NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from deaps.evaluation.document import CurvePoint, Difference, Score
from deaps.report.wording import NOTHING, percent, points, points_between

_MARKED = re.compile(r"(<!-- table (\S+) -->\n).*?(\n<!-- end -->)", re.DOTALL)
_SMALLEST_P = 0.01


class Column(NamedTuple):
    """A metric of a benchmark, and what it is called in a table."""

    benchmark: str
    metric: str
    head: str


TRANSFER = Column("afib-transfer", "auroc", "AFib, transfer: AUROC")
TRANSFER_ACCURACY = Column("afib-transfer", "accuracy", "AFib, transfer: accuracy")
LEAVE_ONE_OUT = Column("afib-loo", "accuracy", "AFib, leave one of 51 out: accuracy")
LEAVE_ONE_OUT_AUROC = Column("afib-loo", "auroc", "AFib, leave one of 51 out: AUROC")
LEAVE_ONE_OF_SEVEN_OUT = Column(
    "afib-loo-fitted", "accuracy", "AFib, leave one of MIT-ARR's 7 out: accuracy"
)
SEX = Column("gender", "accuracy", "sex: accuracy")
CHALLENGE = Column("challenge2017", "accuracy", "Challenge 2017: accuracy")
CHALLENGE_F1 = Column("challenge2017", "f1", "Challenge 2017: F1")


def with_tables(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return a page's text with its marked tables written again."""
    return _MARKED.sub(lambda mark: f"{mark[1]}\n{tables[mark[2]]()}\n{mark[3]}", text)


def as_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def figure_cell(figure: Score | CurvePoint | None) -> str:
    """Return a figure in per cent with its interval, as far as it has one."""
    if figure is None:
        return NOTHING
    if figure.low is None or figure.high is None:
        return percent(figure.value)
    return f"{percent(figure.value)} [{100 * figure.low:.0f}-{100 * figure.high:.0f}]"


def difference_cell(difference: Difference | None) -> str:
    """Return a difference in points with its interval and p, and whether it is significant."""
    if difference is None:
        return NOTHING
    p = f"p {difference.p_holm:.2f}" if difference.p_holm >= _SMALLEST_P else "p < 0.01"
    between = points_between(difference.low, difference.high)
    mark = " **significant**" if difference.significant else ""
    return f"{points(difference.value)} {between}, {p}{mark}"
