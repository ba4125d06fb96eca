"""Metrics of a run: JSON lines while it lasts, TensorBoard beside them, Parquet at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from storage.atomic import replacing

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LINES_NAME = "metrics.jsonl"
TABLE_NAME = "metrics.parquet"
BOARD_NAME = "tensorboard"


class MetricsLog:
    """Rows of numbers by step, in a run's folder.

    A resumed run drops the rows after its checkpoint's step, so that every step stands once.
    """

    def __init__(self, folder: Path, *, resume_step: int = 0) -> None:
        self._folder = folder
        self._lines = folder / LINES_NAME
        self._drop_after(resume_step)
        self._stream = self._lines.open("a", encoding="utf-8")
        self._board = _board(folder / BOARD_NAME, resume_step)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, row: dict[str, Any]) -> None:
        """Add one row; it must have ``step``."""
        self._stream.write(json.dumps(row) + "\n")
        self._stream.flush()
        if self._board is not None:
            for name, value in row.items():
                if name != "step":
                    self._board.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Write the table and let go of the files."""
        self._stream.close()
        if self._board is not None:
            self._board.close()
        rows = read_metrics(self._folder)
        if rows:
            _write_table(self._folder / TABLE_NAME, rows)

    def _drop_after(self, step: int) -> None:
        kept = [row for row in read_metrics(self._folder) if row["step"] <= step]
        with replacing(self._lines) as temporary:
            temporary.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return a run's rows so far; a last line that a kill cut short is left out."""
    lines = folder / LINES_NAME
    if not lines.exists():
        return []
    rows = []
    for line in lines.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def _board(folder: Path, resume_step: int) -> SummaryWriter | None:
    """Return TensorBoard's writer, None where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=resume_step + 1)


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row)
    with replacing(path) as temporary:
        pq.write_table(pa.table({n: [row.get(n) for row in rows] for n in names}), temporary)
