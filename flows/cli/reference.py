"""Commands that explain: every setting, and every table and column of the index."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from pydantic import BaseModel

from deaps.config import OwnSettings
from flows.cli.options import (
    AsJson,
    Config,
    Overrides,
    Preset,
    ToParquet,
    announce,
    settings_from,
    stop,
)
from flows.config import DataSettings, Settings, load_settings, setting_origins
from flows.runtime.console import echo
from preprocessing.datasets import DATASETS

if TYPE_CHECKING:
    from storage.index.columns import SchemaRow


AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")]
_SHORTEST_VALUE = 12


def config(
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION", help="Section, setting, or part of its name (default: all)."
        ),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    markdown: AsMarkdown = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Print every setting: value, origin, meaning.

    Example: deaps config signal --preset open
    """
    from flows.cli.output import write_rows

    if markdown:
        echo(settings_markdown())
        return
    announce(settings_from(preset, config, overrides, quiet=True), preset, config, overrides)
    rows = settings_table(preset=preset, config=config, overrides=overrides or ())
    chosen = _asked_for(rows, section)
    if not chosen:
        sections = dict.fromkeys(row.setting.partition(".")[0] for row in rows)
        stop(f"no setting with {section!r} in its name; sections are {', '.join(sections)}")
    if not write_rows([row._asdict() for row in chosen], json=json, parquet=parquet):
        for line in _setting_lines(chosen):
            echo(line)


def _asked_for(rows: Sequence[SettingRow], part: str | None) -> list[SettingRow]:
    """Return the settings of a section, the one of that name, or those with that in their names."""
    if part is None:
        return list(rows)
    within = [row for row in rows if f"{row.setting}.".startswith(f"{part}.")]
    return within or [row for row in rows if part in row.setting]


def _setting_lines(rows: Sequence[SettingRow]) -> Iterator[str]:
    from flows.runtime.console import screen_width

    for row in rows:
        room = max(_SHORTEST_VALUE, screen_width() - len(f"{row.setting} =   [{row.origin}]"))
        value = row.value or "(not set)"
        shown = value if len(value) <= room else f"{value[: room - 3]}..."
        yield f"{row.setting} = {shown}  [{row.origin}]"
        yield from _folded(row.description)


def schema(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Table, view, or part of a column's name.")
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    markdown: AsMarkdown = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Explain every table, view and column of the index.

    Example: deaps schema windows
    """
    from flows.cli.output import write_rows
    from storage.index.columns import schema_markdown

    if markdown:
        echo(schema_markdown())
        return
    rows = _schema(settings_from(preset, config, overrides).store.root)
    tables = dict.fromkeys(row.table for row in rows)
    chosen = [row for row in rows if table in (None, row.table)]
    chosen = chosen or [row for row in rows if table is not None and table in row.column]
    if not chosen:
        stop(f"no table or column {table!r}; tables and views are {', '.join(tables)}")
    if write_rows([row._asdict() for row in chosen], json=json, parquet=parquet):
        return
    for line in _table_lines(rows) if table is None else _column_lines(chosen):
        echo(line)


def _schema(root: Path) -> list[SchemaRow]:
    """Return the schema of the published index, or of an empty one if there is none."""
    from storage.index.columns import empty_schema, schema_rows
    from storage.snapshot import IndexMissingError, open_index

    try:
        with open_index(root) as index:
            return schema_rows(index)
    except IndexMissingError:
        echo("nothing is published yet: this is what an index has", err=True)
        return empty_schema()


def _table_lines(rows: Sequence[SchemaRow]) -> Iterator[str]:
    from storage.tables import tables

    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        names = [row.column for row in columns]
        yield f"{table}{' (view)' if is_view else ''}: {tables()[table].meaning}"
        yield from _folded(", ".join(names))
    yield "one of them, with its columns explained: deaps schema TABLE"


def _column_lines(rows: Sequence[SchemaRow]) -> Iterator[str]:
    from storage.tables import tables

    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        yield f"{table}{' (view)' if is_view else ''}: {tables()[table].meaning}"
        for row in columns:
            yield f"  {row.column} ({row.type})"
            yield from _folded(row.description)


def _folded(text: str) -> Iterator[str]:
    """Yield a text in lines that fit a screen, set in by four."""
    from flows.runtime.console import screen_width

    for line in textwrap.wrap(text, screen_width() - 4):
        yield f"    {line}"


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


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of a section's fields, each on one line."""
    return {
        name: " ".join(field.description.replace("``", "`").split())
        for name, field in model.model_fields.items()
        if field.description
    }


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
