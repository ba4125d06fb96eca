"""The page of commands: text, example, arguments and options of each, as ``--help`` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from flows.cli import app

_EXAMPLE = re.compile(r"Example: (.+)", re.DOTALL)
_INTRODUCTION = """# Commands

This page is made from the command line itself: `deaps COMMAND --help` prints the same."""


def commands_markdown() -> str:
    """Return the page of all commands, in the order of ``deaps --help``."""
    group: Any = typer.main.get_command(app)
    names = ", ".join(f"[{name}](#deaps-{name})" for name in group.commands)
    sections = (_section(name, command) for name, command in group.commands.items())
    return "\n\n".join([_INTRODUCTION, names, *sections]) + "\n"


def _section(name: str, command: Any) -> str:
    text = command.help.replace("\b", "").strip()
    blocks = [f"## deaps {name}", _EXAMPLE.sub("", text).strip()]
    if example := _EXAMPLE.search(text):
        blocks.append(f"```sh\n{' '.join(example[1].split())}\n```")
    if rows := list(_rows(command)):
        blocks.append(
            "\n".join(
                ["| argument or option | what it does | default |", "| --- | --- | --- |", *rows]
            )
        )
    return "\n\n".join(blocks)


def _rows(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.name != "help":
            yield f"| {_names(parameter)} | {_cell(parameter.help)} | {_default(parameter)} |"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = f" {parameter.metavar}" if parameter.metavar else ""
    names = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(f"`{name}{value}`" for name in names)


def _default(parameter: Any) -> str:
    nothing = parameter.required or parameter.default in (None, False, (), [])
    return "" if nothing else f"`{parameter.default}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
