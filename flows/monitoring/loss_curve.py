"""The curves of a training as text, for pages that show text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 20
_CURVES = ("loss", "representation_std", "effective_rank")
_COLUMNS = ("step", *_CURVES, "windows_per_s")


def curve_page(run: str, rows: Sequence[Mapping[str, float]]) -> str:
    """Return a run's metrics as Markdown: a line of blocks for each curve, and some rows."""
    shown = rows[:: max(1, len(rows) // _POINTS)]
    curves = [
        f"| {name.replace('_', ' ')} | `{sparkline([row[name] for row in shown])}` "
        f"| {rows[0][name]:.4g} | {rows[-1][name]:.4g} |"
        for name in _CURVES
    ]
    table = [f"| {' | '.join(_COLUMNS)} |", f"|{' --- |' * len(_COLUMNS)}"]
    table += [f"| {' | '.join(f'{row[n]:.4g}' for n in _COLUMNS)} |" for row in shown]
    head = f"## Run {run}\n\n|  | curve | first | last |\n| --- | --- | --- | --- |"
    return "\n".join([head, *curves, "", *table])


def sparkline(values: Sequence[float]) -> str:
    """Return a block for each value, from the lowest to the highest; equal values are low."""
    low, high = min(values), max(values)
    scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BLOCKS[round((value - low) * scale)] for value in values)
