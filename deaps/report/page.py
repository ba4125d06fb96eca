"""The report as one HTML file that loads nothing else, in the order of its sections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from deaps.evaluation.document import Evaluation
from deaps.report.ablations import ablations_section, trials_section
from deaps.report.benchmark import benchmark_section
from deaps.report.change import change_sections
from deaps.report.evolution import evolution_section
from deaps.report.few_labels import few_labels_section
from deaps.report.headline import headline_section
from deaps.report.nights import sleep_sections
from deaps.report.parts import Bullets, Notice, Paragraph, Section, TermList, numbered
from deaps.report.pca import pca_section
from deaps.report.provenance import deviations_section, provenance_section
from deaps.report.quality import quality_section
from deaps.report.ranks import mean_ranks_section
from deaps.report.results import absent_section, marked_synthetic, reported
from deaps.report.strips import strips_section
from deaps.report.theme import DARK, LIGHT
from deaps.report.training import training_section
from deaps.report.window_map import map_section
from deaps.report.wording import percent


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


_TEMPLATES = "templates"


def html_page(title: str, sections: Sequence[Section], *, banner: str | None = None) -> str:
    """Return the page; the templates escape every text, drawings are inserted unchanged."""
    page = _environment().get_template("page.html")
    return page.render(
        title=title,
        banner=banner,
        sections=sections,
        texts=[kind.kind for kind in (Paragraph, Notice, Bullets, TermList)],
        style=_resource("style.css"),
        script=_resource("page.js"),
        light=_variables(LIGHT),
        dark=_variables(DARK),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("deaps.report", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "script_json": script_json}
    return environment


def script_json(value: object) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # noqa: S704 (escaped in the line above)


def _resource(name: str) -> Markup:
    text = files("deaps.report").joinpath(_TEMPLATES, name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 (a file of this package)


def _variables(colours: Mapping[str, str]) -> Markup:
    text = "".join(f"--{name}:{colour};" for name, colour in colours.items())
    return Markup(text)  # noqa: S704 (constants of this package)
