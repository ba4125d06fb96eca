"""Tables on the screen, as CSV and JSON, and in Parquet files."""

from __future__ import annotations

import csv
import json as json_text
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.runtime.console import echo, printable
from storage.errors import DeapsError

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 40
ROWS_ASKED = _MOST_ROWS + 1
"""Rows to ask for when a table is printed: one more, to know whether there are more."""

_MOST_LINES = 120
"""Lines of a wide result, whose rows stand next to each other; one block of them in any case."""
_MOST_CHARACTERS = 60
_READABLE = 20
"""Characters that a column needs to be readable, if its values are that long; else their length."""

_BETWEEN = 2
"""Spaces around a column's text."""


def write_rows(
    rows: Sequence[Mapping[str, Any]] | pa.Table, *, json: bool, parquet: Path | None
) -> bool:
    """Write rows as the options ask; return whether they did, so that nothing is printed."""
    if parquet is not None:
        write_parquet(rows, parquet)
    if json:
        print_json(rows)
    return json or parquet is not None


def print_json(rows: Sequence[Mapping[str, Any]] | pa.Table) -> None:
    """Write rows as a JSON list to standard output."""
    listed = list(rows) if isinstance(rows, Sequence) else rows.to_pylist()
    echo(json_text.dumps(listed, default=str, indent=1, ensure_ascii=False))


def write_parquet(rows: Sequence[Mapping[str, Any]] | pa.Table, path: Path) -> None:
    """Write rows to a Parquet file; another kind of file of that name stays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from storage.files import replacing

    require_parquet(path)
    table = pa.Table.from_pylist(list(rows)) if isinstance(rows, Sequence) else rows
    with replacing(path) as temporary:
        pq.write_table(table, temporary)
    echo(f"{table.num_rows:,} rows: {path}", err=True)


def require_parquet(path: Path) -> None:
    """Raise DeapsError if a file is there that is not Parquet."""
    if path.is_dir():
        raise DeapsError(f"{path} is a folder; name a file")
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise DeapsError(f"{path} is not a Parquet file, so it stays; name another file")


def print_table(
    table: pa.Table, *, width: int | None = None, ways: str = "--csv, --json, --parquet FILE"
) -> None:
    """Print the first rows as a table, turned if its columns would be unreadable.

    ``ways`` are the options of the command that give all rows.
    """
    from flows.runtime.console import console

    screen = console()
    if not table.num_rows:
        echo(f"0 rows of {', '.join(table.column_names)}")
        return
    room = width or screen.width
    if needed_width(table) > room:
        _print_turned(table, room, ways)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD)
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        shown.add_column(name, overflow="fold", justify="right" if _is_number(kind) else "left")
    for row in table.slice(0, _MOST_ROWS).to_pylist():
        shown.add_row(*(Text(_cell(value)) for value in row.values()))
    screen.print(shown)
    if table.num_rows > _MOST_ROWS:
        _print_more(f"the first {_MOST_ROWS} rows", ways)


def needed_width(table: pa.Table) -> int:
    """Return the columns of a screen that a table needs to be readable."""
    rows = table.slice(0, _MOST_ROWS).to_pylist()
    total = 0
    for name in table.column_names:
        longest = max((len(_cell(row[name])) for row in rows), default=0)
        # A name folds, too, but not below its values.
        total += min(max(longest, min(len(name), _READABLE)), _READABLE) + _BETWEEN
    return total


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _print_turned(table: pa.Table, room: int, ways: str) -> None:
    """Print variables down and rows across, as many next to each other as the screen takes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from flows.runtime.console import console

    screen = console()
    rows = table.slice(0, _MOST_ROWS).to_pylist()
    names = max(map(len, table.column_names))
    printed = lines = 0
    while printed < len(rows) and (not printed or lines + table.num_columns <= _MOST_LINES):
        block = [rows[printed]]
        used = names + _BETWEEN + _turned_width(rows[printed])
        for row in rows[printed + 1 :]:
            used += _turned_width(row)
            if used > room:
                break
            block.append(row)
        shown = Table(box=box.SIMPLE_HEAD)
        shown.add_column("row", justify="right")
        for number in range(printed + 1, printed + len(block) + 1):
            shown.add_column(str(number), overflow="fold")
        for name in table.column_names:
            shown.add_row(name, *(Text(_cell(row[name])) for row in block))
        screen.print(shown)
        printed += len(block)
        lines += table.num_columns + 3
    if table.num_rows > printed:
        _print_more("the first row" if printed == 1 else f"the first {printed} rows", ways)


def _turned_width(row: Mapping[str, Any]) -> int:
    return min(max(len(_cell(value)) for value in row.values()), _READABLE) + _BETWEEN + 1


def _print_more(what: str, ways: str) -> None:
    echo(f"{what}; all: {ways}", err=True)


def print_csv(table: pa.Table) -> None:
    """Write all rows as CSV to standard output."""
    out = _PrintableStream() if sys.stdout.isatty() else sys.stdout
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=1000):
        writer.writerows(row.values() for row in batch.to_pylist())


class _PrintableStream:
    """Standard output of a terminal; files and pipes get values as they are."""

    def write(self, text: str) -> int:
        """Write text without control characters."""
        return sys.stdout.write(printable(text))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "" if value is None else str(value)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
