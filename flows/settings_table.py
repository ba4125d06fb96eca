"""Every setting as a row: name, value, where the value comes from, and what it means."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from deaps.config import OwnSettings
from flows.config import DataSettings, Settings, load_settings, setting_origins
from preprocessing.datasets import DATASETS


class SettingRow(NamedTuple):
    """One setting; ``origin`` is default, a preset, a file or ``--set``."""

    setting: str
    value: str
    origin: str
    default: str
    description: str


def settings_table(
    *, preset: str | None = None, config: Path | None = None, overrides: Iterable[str] = ()
) -> list[SettingRow]:
    """Return every setting with the value that these sources give it."""
    typed = list(overrides)
    settings = load_settings(preset=preset, config=config, overrides=typed)
    origin_of = setting_origins(preset=preset, config=config, overrides=typed)
    defaults = {name: _shown(value) for name, value, _ in _leaves(Settings())}
    return [
        SettingRow(name, _shown(value), origin_of(name), defaults.get(name, ""), description)
        for name, value, description in _leaves(settings)
    ]


def settings_markdown() -> str:
    """Return the reference of all settings as Markdown: a heading and a table for each section."""
    rows = {name: (value, text) for name, value, text in _leaves(Settings())}
    lines: list[str] = []
    for section, field in Settings.model_fields.items():
        model = _model(field.annotation)
        lines += [f"## `{section}`\n", f"{section_text(model)}\n"]
        lines += ["| setting | default | meaning |", "| --- | --- | --- |"]
        for name, (value, text) in rows.items():
            if name.startswith(f"{section}."):
                shown = _shown(value).replace("|", r"\|")
                default = f"`{shown}`" if shown else ""
                lines.append(f"| `{name}` | {default} | {text} |")
        lines.append("")
    return "\n".join(lines)


def section_text(model: type[BaseModel]) -> str:
    """Return what a section is about: the first paragraph of its docstring, on one line."""
    return " ".join((inspect.getdoc(model) or "").partition("\n\n")[0].split())


def _leaves(settings: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and description of every setting below a section."""
    texts = field_texts(type(settings))
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, DataSettings):
            yield from _data_roots(value)
        elif isinstance(value, OwnSettings):
            yield f"{prefix}{name}.NAME", value.model_extra or {}, section_text(type(value))
        elif isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value, texts.get(name, "")


def _data_roots(data: DataSettings) -> Iterator[tuple[str, Any, str]]:
    roots = data.roots()
    for name, dataset in DATASETS.items():
        yield f"data.{name}", roots.get(name), dataset.about


@cache
def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of a section's fields, which Python itself throws away."""
    source = textwrap.dedent(inspect.getsource(model))
    (body,) = (node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    texts = {}
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = _docstring(after)
            if text is not None:
                texts[field.target.id] = " ".join(text.replace("``", "`").split())
    return texts


def _docstring(node: ast.stmt) -> str | None:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    value = node.value.value if is_text else None  # type: ignore[attr-defined]
    return value if isinstance(value, str) else None


def _model(annotation: Any) -> type[BaseModel]:
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        raise TypeError(f"a section of settings must be a model, not {annotation!r}")
    return annotation


def _shown(value: Any) -> str:
    """Return a value as it is written in TOML; nothing for one that is not set."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case Path() | str():
            return f'"{value}"'
        case tuple() | list():
            return f"[{', '.join(map(_shown, value))}]"
        case BaseModel():
            return _shown(value.model_dump(mode="python"))
        case dict():
            inner = ", ".join(f"{key} = {_shown(item)}" for key, item in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
