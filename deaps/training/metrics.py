"""Metrics of a run: JSON lines, TensorBoard, a table at the end; and measures of collapse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from storage.files import replacing

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.tensorboard import SummaryWriter

ExceptHook = Callable[["threading.ExceptHookArgs"], object]

LINES_NAME = "metrics.jsonl"
TABLE_NAME = "metrics.parquet"
BOARD_NAME = "tensorboard"

_ROUNDING = 1e-6
"""Spread below this share of the rows' own size is rounding."""


class MetricsLog:
    """Rows of numbers by step, in a run's folder.

    A resumed run drops the rows after its checkpoint's step, so that every step has one row.
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
        """Write the table and close the files."""
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


def representation_std(representations: Tensor) -> float:
    """Return the mean over features of the standard deviation over rows, (n, d).

    Rows are scaled to unit length first, so that a shrinking norm does not count; uncorrelated
    features give about 1 / sqrt(d), collapse gives 0.
    """
    import torch  # here, because `deaps status` reads this module and can do without

    unit = torch.nn.functional.normalize(representations.float(), dim=1)
    return float(unit.std(dim=0, correction=0).mean())


def effective_rank(representations: Tensor) -> float:
    """Return the exponential of the entropy of the singular values' shares, (n, d).

    1 where all rows lie on a line through their mean, up to min(n - 1, d) where they fill space
    evenly (Roy & Vetterli, 2007). Constant rows give 0.
    """
    import torch

    rows = representations.float().cpu()
    values = torch.linalg.svdvals(rows - rows.mean(dim=0))
    if float(values.sum()) <= _ROUNDING * float(rows.norm()):
        return 0.0
    shares = values / values.sum()
    shares = shares[shares > 0]
    return float(torch.exp(-(shares * shares.log()).sum()))


def _board(folder: Path, resume_step: int) -> SummaryWriter | None:
    """Return TensorBoard's writer, None where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    threading.excepthook = _ignore_writer_errors(threading.excepthook)
    return SummaryWriter(str(folder), purge_step=resume_step + 1)


def _ignore_writer_errors(hook: ExceptHook) -> ExceptHook:
    """Return a hook that prints no traceback of TensorBoard's thread when a disk is full.

    The same error is raised where a row is written, and printed there in one line.
    """
    if getattr(hook, "leaves_writers_errors", False):
        return hook

    def quiet(arguments: threading.ExceptHookArgs) -> None:
        is_writer = type(arguments.thread).__module__.startswith("tensorboard.")
        if not (is_writer and issubclass(arguments.exc_type, OSError)):
            hook(arguments)

    quiet.leaves_writers_errors = True  # type: ignore[attr-defined]
    return quiet


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row)
    with replacing(path) as temporary:
        pq.write_table(pa.table({n: [row.get(n) for row in rows] for n in names}), temporary)
