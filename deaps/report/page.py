"""The report as one HTML file that loads nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from deaps.report.parts import Bullets, Notice, Paragraph, Section, TermList
from deaps.report.theme import DARK, LIGHT
from deaps.report.wording import percent

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
