"""What the report says, before it is HTML or Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from deaps.evaluation.document import BenchmarkRecord, Evaluation, Provenance
from deaps.evaluation.metrics import metric_title
from deaps.report.benchmark import benchmark_section
from deaps.report.headline import headline_section
from deaps.report.page import report_sections
from deaps.report.parts import Bullets, Figure, Map, Matrices, Notice, Paragraph, Section, Table
from deaps.report.quality import quality_section
from deaps.report.results import absent_section
from deaps.report.wording import percent
from tests.deaps.report.made_evaluation import ABLATED, ABSENT, BASELINES, LABELS, METHODS, NOT_RUN
from tests.deaps.report.part_lookup import all_parts, rows, table

RUN = ("mitdb-loo", "gender", "challenge2017")


def with_accuracies(evaluation: Evaluation, values: dict[str, float]) -> Evaluation:
    """Return the evaluation with other accuracies in the Challenge."""
    changed = tuple(
        one.model_copy(update={"outcomes": _outcomes(one, values)})
        if one.name == "challenge2017"
        else one
        for one in evaluation.benchmarks
    )
    return evaluation.model_copy(update={"benchmarks": changed})


def _outcomes(benchmark: BenchmarkRecord, values: dict[str, float]) -> tuple[object, ...]:
    outcomes = []
    for outcome in benchmark.outcomes:
        first, *others = outcome.scores
        value = values.get(outcome.representation, 0.1)
        scores = (first.model_copy(update={"value": value}), *others)
        outcomes.append(outcome.model_copy(update={"scores": scores}))
    return tuple(outcomes)


def marked(part: Table) -> set[tuple[str, int]]:
    """Return head and column of every cell that is marked as best."""
    return {
        (head, column)
        for head, row in rows(part).items()
        for column, cell in enumerate(row.cells)
        if cell.best
    }


def test_headline_has_every_method_every_baseline_and_the_majority_class(
    sections: Sequence[Section],
) -> None:
    heads = set(rows(table(sections, "table-accuracy-1")))
    assert heads >= {*METHODS.values(), *BASELINES.values(), "majority class"}


@pytest.mark.parametrize("name", RUN)
def test_benchmark_table_has_every_representation(sections: Sequence[Section], name: str) -> None:
    assert set(rows(table(sections, f"table-{name}"))) == {*LABELS.values(), "majority class"}


@pytest.mark.parametrize("name", RUN)
def test_every_row_has_as_many_cells_as_there_are_columns(
    sections: Sequence[Section], name: str
) -> None:
    part = table(sections, f"table-{name}")
    assert {len(row.cells) for row in rows(part).values()} == {part.width}


@pytest.mark.parametrize("name", RUN)
def test_every_representation_has_a_confusion_matrix(
    sections: Sequence[Section], name: str
) -> None:
    (part,) = (p for p in all_parts(sections) if isinstance(p, Matrices) and p.id.endswith(name))
    assert [matrix.title for matrix in part.matrices] == list(LABELS.values())


def test_benchmark_that_was_not_run_says_why_wherever_it_would_have_figures(
    sections: Sequence[Section],
) -> None:
    title = "AFib, MIT-ARR to MIT-AFIB"
    assert rows(table(sections, "table-accuracy-1"))[title].sentence == f"not run: {NOT_RUN}"
    own = next(section for section in sections if section.title == title)
    assert Notice(f"Not run: {NOT_RUN}") in own.parts


def test_benchmark_that_was_not_run_still_shows_the_papers_figures(
    sections: Sequence[Section],
) -> None:
    row = rows(table(sections, "table-afib-transfer"))["DEAPS"]
    assert [cell.text for cell in row.cells] == ["not run", "75.5", "74.6", "75.9"]


def test_representation_that_was_not_tested_is_not_a_blank(evaluation: Evaluation) -> None:
    challenge = next(one for one in evaluation.benchmarks if one.name == "challenge2017")
    fewer = challenge.model_copy(update={"outcomes": challenge.outcomes[1:]})
    row = rows(table([benchmark_section(evaluation, fewer)], "table-challenge2017"))["DEAPS"]
    assert row.cells[0].text == "not run"


def test_the_papers_figures_stand_beside_ours(sections: Sequence[Section]) -> None:
    cells = rows(table(sections, "table-gender"))["DEAPS"].cells
    assert [(cell.text, cell.note) for cell in (cells[1], cells[4])] == [
        ("75.8", "± 1.1"),
        ("74.4", "± 2.9"),
    ]


def test_the_papers_figures_stand_beside_both_variants_of_the_challenge(
    evaluation: Evaluation,
) -> None:
    """It is not certain whether its classifier was fitted on the validation recordings."""
    challenge = next(one for one in evaluation.benchmarks if one.name == "challenge2017")
    leaking = challenge.model_copy(update={"name": "challenge2017-leaking"})
    for benchmark in (challenge, leaking):
        shown = table([benchmark_section(evaluation, benchmark)], f"table-{benchmark.name}")
        assert rows(shown)["DEAPS"].cells[1].text == "80.1"
        assert sum("they stand next to both" in note for note in shown.notes) == 1
    both = evaluation.model_copy(update={"benchmarks": (challenge, leaking)})
    summary = table([headline_section(both)], "table-accuracy-1")
    assert [cell.text for cell in rows(summary)["DEAPS"].cells[1::2]] == ["80.1", "80.1"]
    assert sum("they stand next to both" in note for note in summary.notes) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("afib-transfer", "sensitivity of 97.1 % and a specificity of 98.3 % on MIT-AFIB"),
        ("challenge2017", "F1 of 0.83 on its hidden test"),
        ("accuracy-1", "arXiv 2605.12241"),
    ],
)
def test_what_others_reach_stands_below_the_papers_figures(
    sections: Sequence[Section], name: str, words: str
) -> None:
    assert sum(words in note for note in table(sections, f"table-{name}").notes) == 1


@pytest.mark.parametrize("name", RUN)
def test_best_is_marked_on_total_accuracy_alone(sections: Sequence[Section], name: str) -> None:
    assert {column for _, column in marked(table(sections, f"table-{name}"))} == {0}


def test_no_baseline_and_no_ablation_is_marked_as_best(evaluation: Evaluation) -> None:
    changed = with_accuracies(evaluation, {"random": 0.99, "deaps-16": 0.98, "clocs": 0.5})
    section = benchmark_section(changed, changed.benchmarks[3])
    assert marked(table([section], "table-challenge2017")) == {("CLOCS", 0)}


def test_methods_that_are_level_are_both_marked(evaluation: Evaluation) -> None:
    changed = with_accuracies(evaluation, {"byol": 0.8, "pclr": 0.8, "deaps": 0.7})
    section = benchmark_section(changed, changed.benchmarks[3])
    assert marked(table([section], "table-challenge2017")) == {("BYOL", 0), ("PCLR", 0)}


def test_summary_says_where_deaps_stands_and_that_a_baseline_is_better(
    evaluation: Evaluation,
) -> None:
    changed = with_accuracies(evaluation, {"random": 0.9, "byol": 0.8, "pclr": 0.75, "deaps": 0.7})
    bullets = headline_section(changed).parts[1]
    assert isinstance(bullets, Bullets)
    text = " ".join(bullets.items).replace("\N{NO-BREAK SPACE}", " ")
    assert "BYOL has the highest accuracy, 80.0 %. DEAPS is third of 6 with 70.0 %." in text
    assert re.search(r"DEAPS is significantly better than .*TF-C \(\+1\d\.\d points \[\+", text)
    assert (
        "DEAPS is not significantly different from six RR numbers (+3.4 points [−3.9, +10.8])."
        in text
    )


def with_difference(
    evaluation: Evaluation, metric: str, comparator: str, *, value: float, significant: bool
) -> Evaluation:
    """Return the evaluation with one difference of Challenge 2017 changed."""
    place, challenge = next(
        (k, b) for k, b in enumerate(evaluation.benchmarks) if b.name == "challenge2017"
    )
    comparisons = tuple(
        each.model_copy(
            update={
                "metric": metric if each.metric == "balanced accuracy" else each.metric,
                "differences": tuple(
                    d.model_copy(
                        update={
                            "value": value,
                            "significant": significant and d.comparator == comparator,
                        }
                    )
                    for d in each.differences
                ),
            }
        )
        for each in challenge.comparisons
    )
    changed = list(evaluation.benchmarks)
    changed[place] = challenge.model_copy(update={"comparisons": comparisons})
    return evaluation.model_copy(update={"benchmarks": tuple(changed)})


@pytest.mark.parametrize(
    ("comparator", "value", "words"),
    [
        ("random", 0.1, "significantly better than the random encoder"),
        ("classical", -0.1, "significantly worse than classical features"),
    ],
)
def test_summary_names_the_side_of_a_significant_difference(
    evaluation: Evaluation, comparator: str, value: float, words: str
) -> None:
    changed = with_difference(evaluation, "f1", comparator, value=value, significant=True)
    bullets = headline_section(changed).parts[1]
    assert isinstance(bullets, Bullets)
    (text,) = (item for item in bullets.items if item.startswith("Challenge 2017"))
    sign = "+" if value > 0 else "−"
    assert f"DEAPS is {words} ({sign}10.0 points [" in text
    assert f"By mean F1, DEAPS is {words} ({sign}10.0 points [" in text


def test_summary_is_silent_on_other_metrics_without_a_significant_difference(
    evaluation: Evaluation,
) -> None:
    changed = with_difference(evaluation, "f1", "random", value=0.1, significant=False)
    bullets = headline_section(changed).parts[1]
    assert isinstance(bullets, Bullets)
    (text,) = (item for item in bullets.items if item.startswith("Challenge 2017"))
    assert "By mean F1" not in text
    assert "is not significantly different from the random encoder (+10.0 points" in text


def test_after_a_handful_of_iterations_nobody_leads(evaluation: Evaluation) -> None:
    short = tuple(
        entry.model_copy(update={"iterations": 6 if entry.iterations else None})
        for entry in evaluation.representations
    )
    section = headline_section(evaluation.model_copy(update={"representations": short}))
    notice = section.parts[1]
    assert isinstance(notice, Notice)
    assert notice.text.startswith("After 6 iterations nothing can be concluded")
    assert not any(isinstance(part, Bullets) for part in section.parts)


def test_summary_says_where_people_are_too_few_for_any_difference(evaluation: Evaluation) -> None:
    bullets = headline_section(evaluation).parts[1]
    assert isinstance(bullets, Bullets)
    assert (
        "With 7 people no difference to another method can be significant: the smallest p"
        in (bullets.items[0])
    )
    assert "Holm-corrected over 5 comparisons, is 0.078." in bullets.items[0]


def test_a_significant_difference_is_marked_with_its_interval_and_p(
    sections: Sequence[Section],
) -> None:
    differences = table(sections, "table-differences-challenge2017")
    cell, p, *_ = rows(differences)["TF-C"].cells
    assert re.fullmatch(r"\+1\d\.\d ✓", cell.text)
    assert re.fullmatch(r"\[\+\d+\.\d, \+\d+\.\d\]", cell.note)
    assert p.text == "< 0.001"
    assert [body.title for body in differences.bodies] == [
        "Other methods: DEAPS minus",
        "Baselines: DEAPS minus",
        "Ablations of components: DEAPS minus",
        "Other spans and numbers of features: DEAPS minus",
        "What the method adds to RR features: DEAPS + RR minus",
    ]


def test_few_label_curves_have_a_table_of_differences_at_every_number_of_people(
    evaluation: Evaluation, sections: Sequence[Section]
) -> None:
    differences = table(sections, "table-few-label-differences-challenge2017-accuracy")
    assert [body.title for body in differences.bodies] == [
        "Other methods: DEAPS minus",
        "Baselines: DEAPS minus",
    ]
    cells = rows(differences)["TF-C"].cells
    compared = [
        each
        for each in evaluation.few_label_comparisons
        if (each.comparison.family, each.comparison.metric) == ("methods", "accuracy")
    ]
    assert differences.groups[0].columns == tuple(f"{each.people}" for each in compared)
    for cell, each in zip(cells, compared, strict=True):
        difference = each.comparison.difference("tf-c")
        assert difference is not None
        assert cell.text == f"{100 * difference.value:+.1f}" + " ✓" * difference.significant
        assert cell.note.startswith("[")
    assert "annotated people (not in the last row) and seeds" in differences.notes[0]


def test_curves_without_comparisons_have_no_table_of_differences(evaluation: Evaluation) -> None:
    bare = report_sections(evaluation.model_copy(update={"few_label_comparisons": ()}))
    ids = {part.id for part in all_parts(bare) if isinstance(part, Table)}
    assert "table-few-labels-challenge2017-accuracy" in ids
    assert not [name for name in ids if name.startswith("table-few-label-differences")]


def test_what_was_seen_in_pre_training_is_marked_in_the_table(sections: Sequence[Section]) -> None:
    summary = table(sections, "table-accuracy-1")
    assert "Sex, five folds †" in [group.title for group in summary.groups]
    assert summary.notes[-1].startswith("† Sex, five folds: 12 of 23 tested people are in the")
    assert "12 of 23" in table(sections, "table-gender").notes[-1]


def test_tables_name_the_seeds_that_are_missing(evaluation: Evaluation) -> None:
    representations = tuple(
        entry.model_copy(update={"runs": entry.runs[:2], "missing_seeds": (2, 3)})
        if entry.name == "byol"
        else entry
        for entry in evaluation.representations
    )
    changed = evaluation.model_copy(update={"representations": representations})
    sentence = "BYOL has no finished training of seeds 2 and 3: its figures are of seeds 0 and 1."
    assert sentence in table([headline_section(changed)], "table-accuracy-1").notes
    section = benchmark_section(changed, changed.benchmarks[3])
    assert sentence in table([section], "table-challenge2017").notes
    assert sentence not in table([headline_section(evaluation)], "table-accuracy-1").notes


def test_every_benchmark_has_its_figures_with_other_classifiers_and_seed_by_seed(
    sections: Sequence[Section],
) -> None:
    probes = table(sections, "table-probes-gender")
    assert [g.title for g in probes.groups] == ["logistic regression", "nearest neighbours"]
    assert set(rows(probes)) == set(LABELS.values())
    seeds = rows(table(sections, "table-seeds-gender"))["DEAPS"]
    assert [c.text for c in seeds.cells[:3]] == sorted(c.text for c in seeds.cells[:3])


def test_ranks_say_whether_they_tell_methods_apart(evaluation: Evaluation) -> None:
    (section,) = (s for s in report_sections(evaluation) if s.id == "ranks")
    (words, _, ranked) = section.parts
    assert isinstance(words, Paragraph)
    assert "differ by more than 4.35" in words.text
    assert words.text.endswith("The first and the last differ by more than that.")
    assert isinstance(ranked, Table)
    assert rows(ranked)["DEAPS"].cells[-1].text == "1.00"


def test_interval_and_deviation_stand_with_an_accuracy(sections: Sequence[Section]) -> None:
    cell = rows(table(sections, "table-mitdb-loo"))["DEAPS"].cells[0]
    assert re.fullmatch(r"\[\d+\.\d–\d+\.\d\] ± \d+\.\d", cell.note)


def test_untrained_setting_of_an_ablation_says_so(sections: Sequence[Section]) -> None:
    cells = rows(table(sections, "table-ablation-span"))["150 s"].cells
    assert {cell.text for cell in cells} == {"not trained", "69.7"}


def test_every_run_has_curves_and_a_row(sections: Sequence[Section]) -> None:
    figure = next(p for p in all_parts(sections) if getattr(p, "id", "") == "figure-training")
    assert isinstance(figure, Figure)
    assert [panel.title for panel in figure.panels] == [*METHODS.values(), *ABLATED.values()]
    assert list(rows(table(sections, "table-training"))) == [panel.title for panel in figure.panels]


@pytest.mark.parametrize(
    ("metric", "table_id"),
    [("accuracy", "table-evolution-mitdb-loo"), ("auroc", "table-evolution-mitdb-loo-auroc")],
)
def test_the_gain_of_a_doubling_stands_behind_a_metric_by_iterations(
    evaluation: Evaluation, sections: Sequence[Section], metric: str, table_id: str
) -> None:
    course = next(
        each
        for each in evaluation.evolution
        if (each.benchmark, each.representation, each.metric) == ("mitdb-loo", "deaps", metric)
    )
    assert course.doubling_gain is not None
    found = table(sections, table_id)
    assert metric_title(metric) in found.caption
    *values, last = rows(found)["DEAPS"].cells
    assert [cell.text for cell in values] == [percent(value) for value in course.values]
    assert last.text.replace("−", "-") == f"{100 * course.doubling_gain:+.1f}"
    assert last.note == "± 0.4"


def test_data_sets_have_the_names_that_people_know(sections: Sequence[Section]) -> None:
    heads = set(rows(table(sections, "table-quality")))
    assert heads == {
        *("SHHS, visit 1", "SHHS, visit 2", "MIT-ARR", "Challenge 2017", "AFPDB", "ECG-ID"),
    }
    captions = [getattr(part, "caption", "") for part in all_parts(sections)]
    assert sum("windows of MIT-ARR" in caption for caption in captions) == 2
    assert not [caption for caption in captions if "mitdb" in caption]


def test_data_set_without_a_label_keeps_its_key(evaluation: Evaluation) -> None:
    section = quality_section(evaluation.model_copy(update={"datasets": {}}))
    assert "mitdb" in rows(table([section], "table-quality"))


def changed_benchmark(evaluation: Evaluation, name: str, **update: object) -> Evaluation:
    """Return the evaluation with one benchmark changed."""
    benchmarks = tuple(
        b.model_copy(update=update) if b.name == name else b for b in evaluation.benchmarks
    )
    return evaluation.model_copy(update={"benchmarks": benchmarks})


def test_only_families_that_cannot_be_significant_have_a_notice(evaluation: Evaluation) -> None:
    benchmark = next(b for b in evaluation.benchmarks if b.name == "mitdb-loo")
    smallest = {"methods": 0.078, "baselines": 0.0625, "joined": 0.016}
    comparisons = tuple(
        each.model_copy(update={"smallest_p": smallest.get(each.family, 0.04)})
        for each in benchmark.comparisons
    )
    changed = changed_benchmark(evaluation, "mitdb-loo", comparisons=comparisons)
    section = benchmark_section(
        changed, next(b for b in changed.benchmarks if b.name == "mitdb-loo")
    )
    (notice,) = (
        part.text
        for part in all_parts([section])
        if isinstance(part, Notice) and "can be significant" in part.text
    )
    assert "no difference to another method can be significant" in notice
    assert "no difference to a baseline can be significant" in notice
    assert "RR numbers" not in notice


def test_inner_folds_say_that_their_people_were_seen(evaluation: Evaluation) -> None:
    changed = changed_benchmark(evaluation, "inner-challenge", seen="53 of 54 tested people are.")
    found = report_sections(changed)
    assert table(found, "table-inner-inner-challenge").notes == ("53 of 54 tested people are.",)
    assert "Challenge 2017, inner folds: 53 of 54 tested people are." in (
        table(found, "table-trials").notes
    )


def test_a_benchmark_that_leaks_is_marked_and_nobody_leads_it(evaluation: Evaluation) -> None:
    changed = changed_benchmark(evaluation, "challenge2017", leak="It leaks.")
    title = next(b.title for b in changed.benchmarks if b.name == "challenge2017")
    summary = headline_section(changed)
    tables = [part for part in all_parts([summary]) if isinstance(part, Table)]
    assert f"{title} †" in [group.title for each in tables for group in each.groups]
    assert f"† {title}: It leaks." in [note for each in tables for note in each.notes]
    bullets = summary.parts[1]
    assert isinstance(bullets, Bullets)
    assert not [item for item in bullets.items if item.startswith(title)]
    section = benchmark_section(changed, next(b for b in changed.benchmarks if b.leak))
    assert "It leaks." in [p.text for p in all_parts([section]) if isinstance(p, Notice)]
    assert "It leaks." in table([section], "table-challenge2017").notes


def test_inner_folds_stay_out_of_the_results(sections: Sequence[Section]) -> None:
    titles = [section.title for section in sections]
    assert "Challenge 2017, inner folds" not in titles
    assert rows(table(sections, "table-inner-inner-challenge")).keys() == set(LABELS.values())


def test_all_that_is_absent_is_listed(evaluation: Evaluation) -> None:
    text = str(absent_section(evaluation).parts)
    assert all(one in text for one in (*ABSENT, NOT_RUN))


def test_what_is_absent_is_also_said_in_its_own_section(sections: Sequence[Section]) -> None:
    pca = next(section for section in sections if section.id == "pca")
    assert pca.parts[0] == Notice(f"Not shown: {ABSENT[0]}")


def test_tables_and_figures_are_numbered_without_gaps(sections: Sequence[Section]) -> None:
    parts = list(all_parts(sections))
    tables = [part.number for part in parts if isinstance(part, Table)]
    figures = [part.number for part in parts if isinstance(part, Figure | Matrices | Map)]
    assert len(tables) > 20
    assert len(figures) > 10
    assert tables == list(range(1, len(tables) + 1))
    assert figures == list(range(1, len(figures) + 1))


def test_evaluation_with_nothing_in_it_says_so_in_every_section(evaluation: Evaluation) -> None:
    empty = Evaluation(
        id="1", title="Nothing", representations=(), benchmarks=(), provenance=evaluation.provenance
    )
    sections = {section.id: section for section in report_sections(empty)}
    names = ("evolution", "strips", "pca", "ablations", "training", "quality", "map", "trials")
    for name in names:
        assert Notice(f"Not shown: {name}: not part of this evaluation") in sections[name].parts
    assert sections["absent"].parts == (Paragraph("Nothing is missing."),)


def test_evaluation_without_provenance_details_has_no_empty_tables(
    evaluation: Evaluation,
) -> None:
    bare = Provenance(
        snapshot_id="1", created_at="now", command="deaps", versions={}, hardware={},
        settings="", digests={}, seeds={}, stages=(),
    )  # fmt: skip
    sections = report_sections(
        evaluation.model_copy(update={"provenance": bare, "pca": (), "training": ()})
    )
    tables = [part for part in all_parts(sections) if isinstance(part, Table)]
    assert {"table-representations", "table-accuracy-1"} <= {table.id for table in tables}
    assert all(body.rows for table in tables for body in table.bodies)


def test_synthetic_data_are_named_in_every_caption(evaluation: Evaluation) -> None:
    made = evaluation.model_copy(update={"synthetic": ("shhs", "mitdb")})
    captions = [p.caption for p in all_parts(report_sections(made)) if hasattr(p, "caption")]
    assert len(captions) > 20
    assert all(caption.startswith("Synthetic data. ") for caption in captions)
    real = [p.caption for p in all_parts(report_sections(evaluation)) if hasattr(p, "caption")]
    assert not any("ynthetic" in caption for caption in real)


def test_tables_say_what_their_intervals_cover(evaluation: Evaluation) -> None:
    note = table(report_sections(evaluation), "table-gender").notes[0]
    assert "interval over people and seeds." in note
    alone = "people alone; one seed does not show its luck"
    benchmarks = tuple(
        benchmark.model_copy(
            update={
                "outcomes": tuple(
                    outcome.model_copy(
                        update={
                            "scores": tuple(
                                score.model_copy(update={"scope": alone})
                                for score in outcome.scores
                            )
                        }
                    )
                    for outcome in benchmark.outcomes
                )
            }
        )
        for benchmark in evaluation.benchmarks
    )
    sections = report_sections(evaluation.model_copy(update={"benchmarks": benchmarks}))
    for name in ("table-gender", "table-accuracy-1"):
        assert (
            "over people alone: the between-seed variance is unknown"
            in table(sections, name).notes[0]
        )
