"""Tables of the open experiment's page: made from the report's document, cell by cell."""

from __future__ import annotations

import re

import pytest

from deaps.evaluation.document import Evaluation
from deaps.report.wording import percent, points
from experiments.open.experiment_tables import PAGES, RECORD, TABLES, as_record, tables_of
from experiments.open.marked_tables import with_tables
from tests.deaps.report.made_evaluation import made_evaluation


def rows_of(table: str) -> list[list[str]]:
    return [re.split(r" \| ", line.strip("| ")) for line in table.splitlines() if line]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_table_has_a_cell_for_each_head(name: str) -> None:
    for table in TABLES[name](made_evaluation()).split("\n\n"):
        assert len({line.count(" | ") for line in table.splitlines()}) == 1


def test_a_figure_stands_in_the_row_of_its_method_and_the_column_of_its_benchmark() -> None:
    evaluation = made_evaluation()
    challenge = next(b for b in evaluation.benchmarks if b.name == "challenge2017")
    heads, _, *rows = rows_of(TABLES["headline"](evaluation))
    (pclr,) = (row for row in rows if row[0] == "PCLR")
    score = challenge.outcome("pclr").score("accuracy")  # type: ignore[union-attr]
    assert score is not None
    column = heads.index("Challenge 2017: accuracy") - len(heads)
    assert pclr[column].split()[0] == percent(score.value)


def test_a_difference_stands_with_its_own_comparator_and_its_mark() -> None:
    evaluation = made_evaluation()
    challenge = next(b for b in evaluation.benchmarks if b.name == "challenge2017")
    comparison = challenge.comparison("methods", "accuracy")
    assert comparison is not None
    table = TABLES["differences"](evaluation)
    for difference in comparison.differences:
        label = evaluation.representation(difference.comparator).label
        shown = cell(table, label, "Challenge 2017: accuracy")
        assert shown.startswith(f"{points(difference.value)} ")
        assert ("**significant**" in shown) == difference.significant


def cell(table: str, row: str, head: str) -> str:
    heads, _, *rows = rows_of(table)
    (found,) = (cells for cells in rows if cells[0] == row)
    return found[heads.index(head) - len(heads)]


def test_challenge_2017_stands_beside_its_leaking_twin() -> None:
    evaluation = made_evaluation()
    challenge = next(b for b in evaluation.benchmarks if b.name == "challenge2017")
    twin = challenge.model_copy(
        update={"name": "challenge2017-leaking", "outcomes": challenge.outcomes[::-1]}
    )
    table = TABLES["overlap"](evaluation.model_copy(update={"benchmarks": (challenge, twin)}))
    for benchmark, head in ((challenge, "validation recordings removed"), (twin, "kept (leaks)")):
        score = benchmark.outcome("pclr").score("accuracy")  # type: ignore[union-attr]
        assert score is not None
        assert cell(table, "PCLR", f"{head}: accuracy").split()[0] == percent(score.value)


def test_a_method_has_its_mean_rank_and_its_rank_on_each_benchmark() -> None:
    evaluation = made_evaluation()
    found = evaluation.ranks
    assert found is not None
    table = TABLES["ranks"](evaluation)
    assert cell(table, "PCLR", "mean rank") == f"{found.mean['pclr']:.1f}"
    shown = cell(table, "PCLR", "Challenge 2017")
    assert float(shown) == found.by_benchmark["challenge2017"]["pclr"]


def test_every_other_classifier_has_a_table_of_its_own_figures() -> None:
    evaluation = made_evaluation()
    challenge = next(b for b in evaluation.benchmarks if b.name == "challenge2017")
    tables = TABLES["probes"](evaluation).split("\n\n")
    assert len(tables) == len({outcome.probe for outcome in challenge.probes}) > 0
    for table in tables:
        probe = rows_of(table)[0][0]
        outcome = next(
            o for o in challenge.probes if (o.probe, o.representation) == (probe, "pclr")
        )
        shown = cell(table, "PCLR", "Challenge 2017: accuracy").split()[0]
        assert shown == percent(outcome.scores[0].value)


def test_a_point_of_a_few_label_curve_has_its_interval() -> None:
    evaluation = made_evaluation()
    curve = next(c for c in evaluation.few_labels if c.representation == "pclr")
    first = curve.points[0]
    table = TABLES["few-labels"](evaluation).split("\n\n")[0]
    expected = f"{percent(first.value)} [{100 * first.low:.0f}-{100 * first.high:.0f}]"
    assert cell(table, "PCLR", f"{first.people:,}") == expected


def test_a_difference_at_few_labels_stands_beside_its_number_of_people() -> None:
    evaluation = made_evaluation()
    tables = TABLES["few-label-differences"](evaluation).split("\n\n")
    assert [rows_of(table)[0][0] for table in tables] == [
        "Challenge 2017: accuracy; DEAPS minus",
        "Challenge 2017: F1; DEAPS minus",
    ]
    compared = next(
        each
        for each in evaluation.few_label_comparisons
        if (each.comparison.family, each.comparison.metric) == ("methods", "f1")
    )
    difference = compared.comparison.differences[0]
    comparator = evaluation.representation(difference.comparator).label
    shown = cell(tables[1], f"{compared.people:,}", comparator)
    assert shown.startswith(f"{points(difference.value)} ")


def test_a_course_stands_with_its_metric_and_its_method() -> None:
    evaluation = made_evaluation()
    course = next(e for e in evaluation.evolution if e.metric == "auroc")
    moved = course.model_copy(update={"benchmark": "afib-transfer"})
    growth = TABLES["growth"](evaluation.model_copy(update={"evolution": (moved,)}))
    (line,) = rows_of(growth)[2:]
    assert line[:2] == [
        "AFib, transfer: AUROC",
        evaluation.representation(course.representation).label,
    ]
    assert line[2].startswith(f"{percent(course.values[0])} at {course.steps[0]:,}")


def test_other_sizes_stand_with_their_paired_differences() -> None:
    evaluation = made_evaluation()
    challenge = next(b for b in evaluation.benchmarks if b.name == "challenge2017")
    comparison = challenge.comparison("sizes", "accuracy")
    assert comparison is not None
    _, differences = TABLES["sizes"](evaluation).split("\n\n")
    for difference in comparison.differences:
        label = evaluation.representation(difference.comparator).label
        shown = cell(differences, label, "Challenge 2017: accuracy")
        assert shown.startswith(f"{points(difference.value)} ")


def test_inner_folds_have_a_row_for_each_seed_and_one_for_each_baseline() -> None:
    evaluation = made_evaluation()
    challenge = next(b for b in evaluation.benchmarks if b.name == "challenge2017")
    inner = tuple(
        challenge.model_copy(update={"name": name})
        for name in ("inner-folds", "inner-few", "inner-afib")
    )
    table = TABLES["inner"](evaluation.model_copy(update={"benchmarks": inner}))
    assert challenge.facts is not None
    assert cell(table, "majority class", "many labels") == percent(challenge.facts.majority)
    pclr, random = (challenge.outcome(name).score("accuracy") for name in ("pclr", "random"))  # type: ignore[union-attr]
    assert pclr is not None
    assert random is not None
    assert cell(table, "PCLR, seed 1", "mean") == f"{100 * pclr.by_seed[1]:.2f}"
    assert cell(table, "random encoder", "mean") == f"{100 * random.value:.2f}"


def test_the_record_has_all_that_the_tables_need() -> None:
    evaluation = made_evaluation()
    record = as_record(evaluation)
    assert not record.pca
    of_people = {b.name for b in record.benchmarks if any(o.folds for o in b.outcomes)}
    assert of_people == {"afib-loo", "afib-loo-fitted"} & {b.name for b in record.benchmarks}
    for make in TABLES.values():
        assert make(record) == make(evaluation)


def test_marked_tables_are_replaced_and_the_rest_stays() -> None:
    text = "Before.\n<!-- table headline -->\nold\n<!-- end -->\nAfter.\n"
    page = with_tables(text, tables_of(made_evaluation()))
    assert page.startswith("Before.\n<!-- table headline -->\n\n| ")
    assert page.endswith(" |\n\n<!-- end -->\nAfter.\n")
    assert "old" not in page
    assert with_tables(page, tables_of(made_evaluation())) == page


def test_pages_have_the_figures_of_the_record() -> None:
    record = Evaluation.model_validate_json(RECORD.read_text(encoding="utf-8"))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert with_tables(text, tables_of(record)) == text


def test_pages_name_tables_that_there_are() -> None:
    for page in PAGES:
        marks = re.findall(r"<!-- table (\S+) -->", page.read_text(encoding="utf-8"))
        assert set(marks) <= set(TABLES)
