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

_MOST_RECORDS = 5
_MOST_LINES = 40
"""Lines of rows that are printed below each other; one row is printed in any case."""
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
    """Print the first rows as a table, or one below the other if columns would be unreadable.

    ``ways`` are the options of the command that give all rows.
    """
    from flows.runtime.console import console

    screen = console()
    if needed_width(table) > (width or screen.width):
        _print_records(table, ways)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD)
    for name in table.column_names:
        shown.add_column(name, overflow="fold")
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


def _print_records(table: pa.Table, ways: str) -> None:
    from rich.text import Text

    from flows.runtime.console import console

    screen = console()
    names = max(map(len, table.column_names))
    room = max(_READABLE, screen.width - names - 2)
    most = max(1, min(_MOST_RECORDS, _MOST_LINES // table.num_columns))
    for number, row in enumerate(table.slice(0, most).to_pylist(), start=1):
        lines = [f"row {number}"]
        for name, value in row.items():
            first, *rest = _cut(_cell(value), room)
            lines.append(f"{name:>{names}}  {first}")
            lines += [f"{'':>{names}}  {part}" for part in rest]
        screen.print(Text("\n".join([*lines, ""])))
    if table.num_rows > most:
        _print_more("the first row" if most == 1 else f"the first {most} rows", ways)


def _print_more(what: str, ways: str) -> None:
    echo(f"{what}; all: {ways}", err=True)


def _cut(text: str, room: int) -> list[str]:
    return [text[start : start + room] for start in range(0, len(text), room)] or [""]


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
