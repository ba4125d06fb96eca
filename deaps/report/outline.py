"""The order of the report."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation
from deaps.report.parts import Section, numbered
from deaps.report.results import reported
from deaps.report.sections.ablations import ablations_section
from deaps.report.sections.absent import absent_section
from deaps.report.sections.change import change_sections
from deaps.report.sections.deviations import deviations_section
from deaps.report.sections.embedding_map import map_section
from deaps.report.sections.evolution import evolution_section
from deaps.report.sections.pca import pca_section
from deaps.report.sections.provenance import provenance_section
from deaps.report.sections.quality import quality_section
from deaps.report.sections.results.benchmark import benchmark_section
from deaps.report.sections.results.few_labels import few_labels_section
from deaps.report.sections.results.headline import headline_section
from deaps.report.sections.results.mean_ranks import mean_ranks_section
from deaps.report.sections.sleep import sleep_sections
from deaps.report.sections.strips import strips_section
from deaps.report.sections.training import training_section
from deaps.report.sections.trials import trials_section
from deaps.report.synthetic import marked_synthetic


def report_sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return every section in order, tables and figures numbered."""
    sections = (
        headline_section(evaluation),
        *change_sections(evaluation),
        mean_ranks_section(evaluation),
        *(benchmark_section(evaluation, benchmark) for benchmark in reported(evaluation)),
        few_labels_section(evaluation),
        evolution_section(evaluation),
        strips_section(evaluation),
        pca_section(evaluation),
        ablations_section(evaluation),
        training_section(evaluation),
        quality_section(evaluation),
        *sleep_sections(evaluation),
        map_section(evaluation),
        trials_section(evaluation),
        deviations_section(evaluation),
        absent_section(evaluation),
        provenance_section(evaluation),
    )
    return marked_synthetic(numbered(sections), evaluation)
