"""Answers of ``deaps query`` on the screen."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 40
ROWS_ASKED = _MOST_ROWS + 1
"""Rows to ask for when a table is printed: one more, to know whether there are more."""

_MOST_COLUMNS = 14
_MOST_RECORDS = 5
_MOST_CHARACTERS = 60


def print_table(table: pa.Table) -> None:
    """Print the first rows as a table, or one below the other if there are many columns."""
    if table.num_columns > _MOST_COLUMNS:
        _print_records(table)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from flows.runtime.console import console

    shown = Table(box=box.SIMPLE_HEAD)
    for name in table.column_names:
        shown.add_column(name, overflow="fold")
    for row in table.slice(0, _MOST_ROWS).to_pylist():
        shown.add_row(*(Text(_cell(value)) for value in row.values()))
    console().print(shown)
    if table.num_rows > _MOST_ROWS:
        console().print(f"the first {_MOST_ROWS} rows; --csv writes all", highlight=False)


def _print_records(table: pa.Table) -> None:
    from flows.runtime.console import console

    width = max(map(len, table.column_names))
    for number, row in enumerate(table.slice(0, _MOST_RECORDS).to_pylist(), start=1):
        lines = [f"{name:>{width}}  {_cell(value)}" for name, value in row.items()]
        console().print(f"row {number}", *lines, "", sep="\n", markup=False)


def print_csv(table: pa.Table) -> None:
    """Write all rows as CSV to standard output."""
    writer = csv.writer(sys.stdout)
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=1000):
        writer.writerows(row.values() for row in batch.to_pylist())


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "" if value is None else str(value)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
