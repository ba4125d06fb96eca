"""How a benchmark's figure moves while an encoder is trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.stats import linregress

from deaps.evaluation.document import Evolution
from deaps.exhibits import NotShownError
from deaps.exhibits.json_numbers import plain_floats

_CURVE_POINTS = 100


def evolution_exhibit(
    representation: str,
    benchmark: str,
    metric: str,
    steps: Sequence[int],
    values: Sequence[float],
    *,
    degree: int = 3,
) -> Evolution:
    """Return figures by step with a polynomial fitted by least squares.

    The degree is lowered until two points are left over, and is at least 1. The curve is the
    polynomial itself: it may leave the range that a share can have.

    Raises
    ------
    NotShownError
        With fewer than two different steps.
    """
    order = np.argsort(np.asarray(steps), kind="stable")
    at, figures = np.asarray(steps)[order], np.asarray(values, np.float64)[order]
    n_steps = len(np.unique(at))
    if n_steps < 2:
        raise NotShownError(f"{n_steps} different steps; a curve takes two")
    degree = max(1, min(degree, n_steps - 2))
    share = (at - at[0]) / (at[-1] - at[0])
    # On the domain itself: numpy would map it to -1 to 1, with the same curve.
    curve = Polynomial.fit(share, figures, degree, domain=[0, 1], window=[0, 1])
    places = np.linspace(0, 1, _CURVE_POINTS)
    gain, error = _gain_of_doubling(at[at > 0], figures[at > 0])
    return Evolution(
        representation=representation,
        benchmark=benchmark,
        metric=metric,
        steps=tuple(int(step) for step in at),
        values=tuple(float(value) for value in figures),
        degree=degree,
        fitted_steps=plain_floats(at[0] + places * (at[-1] - at[0])),
        fitted=plain_floats(curve(places)),
        doubling_gain=gain,
        doubling_error=error,
    )


def _gain_of_doubling(
    steps: NDArray[np.integer], figures: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the slope of figures over log2(steps), and its standard error; steps are positive."""
    n_steps = len(np.unique(steps))
    if n_steps < 2:
        return None, None
    line = linregress(np.log2(steps), figures)
    return float(line.slope), float(line.stderr) if n_steps > 2 else None
