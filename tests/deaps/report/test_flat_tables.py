"""The flat tables beside the report: every figure of the evaluation, once."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from deaps.evaluation.document import Evaluation
from deaps.report.markdown import ABOUT_TABLES, flat_tables

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def tables(evaluation: Evaluation) -> dict[str, Rows]:
    texts = flat_tables(evaluation)
    return {name: list(csv.DictReader(io.StringIO(text))) for name, text in texts.items()}


def test_every_figure_has_one_row(evaluation: Evaluation, tables: dict[str, Rows]) -> None:
    expected = sum(
        len(outcome.scores)
        for benchmark in evaluation.benchmarks
        for outcome in (*benchmark.outcomes, *benchmark.probes)
    )
    assert len(tables["figures.csv"]) == expected > 100


def test_a_figure_keeps_its_value_and_its_interval(
    evaluation: Evaluation, tables: dict[str, Rows]
) -> None:
    benchmark = next(b for b in evaluation.benchmarks if b.outcomes)
    outcome = benchmark.outcomes[0]
    score = outcome.scores[0]
    (row,) = (
        row
        for row in tables["figures.csv"]
        if (row["benchmark"], row["representation"], row["metric"], row["classifier"])
        == (benchmark.name, outcome.representation, score.metric, "as in the tables")
    )
    assert float(row["value"]) == score.value
    assert row["low"] == ("" if score.low is None else str(score.low))
    assert row["benchmark_title"] == benchmark.title


def test_people_read_names_of_comparators(evaluation: Evaluation, tables: dict[str, Rows]) -> None:
    labels = {entry.label for entry in evaluation.representations}
    assert {row["comparator"] for row in tables["differences.csv"]} <= labels
    assert len(tables["differences.csv"]) > 0


def test_every_difference_of_a_few_label_curve_has_one_row(
    evaluation: Evaluation, tables: dict[str, Rows]
) -> None:
    first = evaluation.few_label_comparisons[0]
    difference = first.comparison.differences[0]
    rows = tables["few-label-differences.csv"]
    assert len(rows) == sum(
        len(each.comparison.differences) for each in evaluation.few_label_comparisons
    )
    assert rows[0]["annotated_people"] == str(first.people)
    assert (float(rows[0]["difference"]), float(rows[0]["p_holm"])) == (
        *(difference.value, difference.p_holm),
    )


def test_no_table_is_empty_and_real_data_are_not_called_synthetic(
    tables: dict[str, Rows],
) -> None:
    assert set(tables) == set(ABOUT_TABLES)
    for rows in tables.values():
        assert {row["synthetic"] for row in rows} == {""}


def test_every_row_on_synthetic_data_names_them_as_people_know_them(
    evaluation: Evaluation,
) -> None:
    made = evaluation.model_copy(update={"synthetic": ("afdb",), "datasets": {"afdb": "MIT-AFIB"}})
    for text in flat_tables(made).values():
        assert {row["synthetic"] for row in csv.DictReader(io.StringIO(text))} == {"MIT-AFIB"}


def test_the_report_has_the_tables_beside_it_and_says_so(page_path: Path, page: str) -> None:
    folder = page_path.parent / "tables"
    assert {path.name for path in folder.iterdir()} == set(ABOUT_TABLES)
    assert [name for name in ABOUT_TABLES if name not in page] == []
