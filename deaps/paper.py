"""The paper's ablation steps, and its figures to print next to ours: percentages, as printed."""

from __future__ import annotations

from typing import Any, NamedTuple

from deaps.method_registry import BYOL, CLOCS, DEAPS, MIXING_UP, PCLR, TF_C


class ComponentStep(NamedTuple):
    """A training of the ablation of components."""

    method: str
    changed: dict[str, Any]
    """What it overrides of `DeapsSettings`."""
    tuned_as: str
    """The method whose tuned settings it has. From BYOL on, each step is to differ from the one
    below by a component, and not by a rate; PCLR is another method."""


COMPONENT_STEPS: dict[str, ComponentStep] = {
    "PCLR": ComponentStep(PCLR.name, {}, PCLR.name),
    "BYOL": ComponentStep(BYOL.name, {}, DEAPS.name),
    "+ covariance": ComponentStep(DEAPS.name, {"gradual": False}, DEAPS.name),
    "+ gradual loss": ComponentStep(DEAPS.name, {"gradual": True, "masked": False}, DEAPS.name),
    "+ mask (DEAPS)": ComponentStep(DEAPS.name, {"gradual": True, "masked": True}, DEAPS.name),
}
"""The ablation of components, in order. DEAPS without its gradual loss is BYOL with the covariance
loss."""


class Printed(NamedTuple):
    """A figure of the paper, with its deviation where it gives one."""

    value: float
    deviation: float | None = None


_METHODS = tuple(entry.name for entry in (MIXING_UP, TF_C, PCLR, BYOL, CLOCS, DEAPS))
"""Order of the figures below."""

_COLUMNS: dict[tuple[str, str], tuple[float, ...]] = {
    ("afib-transfer", "accuracy"): (65.6, 71.8, 65.5, 67.9, 62.8, 75.5),
    ("afib-transfer", "sensitivity"): (60.6, 64.8, 59.8, 62.6, 55.0, 74.6),
    ("afib-transfer", "specificity"): (67.4, 76.5, 68.1, 69.9, 66.2, 75.9),
    ("afib-loo", "accuracy"): (73.4, 77.2, 75.1, 75.6, 75.4, 79.4),
    ("gender", "accuracy"): (70.4, 65.8, 76.1, 76.3, 70.4, 75.8),
    ("gender", "male"): (68.0, 62.8, 74.7, 75.3, 68.1, 74.4),
    ("gender", "female"): (71.9, 67.4, 77.2, 77.6, 71.9, 76.6),
    ("challenge2017", "accuracy"): (74.9, 60.2, 77.5, 78.0, 74.8, 80.1),
    ("challenge2017", "normal"): (74.3, 62.0, 75.0, 76.5, 72.7, 77.4),
    ("challenge2017", "AFib"): (85.4, 100.0, 88.3, 84.5, 84.7, 86.0),
    ("challenge2017", "other"): (71.0, 44.3, 79.5, 79.0, 77.1, 85.2),
}

_DEVIATIONS: dict[tuple[str, str], tuple[float, ...]] = {
    ("afib-loo", "accuracy"): (17.1, 20.5, 18.2, 21.1, 19.1, 18.7),
    ("gender", "accuracy"): (1.5, 2.9, 1.7, 3.3, 1.11, 1.1),
    ("gender", "male"): (3.3, 5.5, 2.6, 4.0, 3.1, 2.9),
    ("gender", "female"): (2.3, 2.1, 3.1, 3.9, 2.2, 2.5),
}

SPAN_S: dict[int, dict[str, float]] = {
    90: {"afib-transfer": 71.3, "afib-loo": 77.3},
    120: {"afib-transfer": 75.5, "afib-loo": 79.4},
    150: {"afib-transfer": 69.7, "afib-loo": 79.1},
}
"""Accuracy by the span of a triplet."""

FEATURES: dict[int, dict[str, float]] = {
    16: {"afib-transfer": 69.3, "afib-loo": 79.2},
    32: {"afib-transfer": 75.5, "afib-loo": 79.4},
    48: {"afib-transfer": 72.4, "afib-loo": 78.9},
}
"""Accuracy by the number of features that the mask keeps."""

CLASS_COLUMNS_NOTE = (
    "The paper's class columns cannot be plain recall on one test set: the share of AFib that "
    "accuracy, sensitivity and specificity imply differs between its rows, and some figures for "
    "the Challenge are impossible over 47 or 50 records. Recall and precision stand next to them "
    "here; methods are compared on total accuracy alone."
)

_SAME_FIGURES = {"challenge2017-leaking": "challenge2017"}
"""Benchmarks next to which the figures of another stand."""

_VARIANTS = (
    "The paper speaks of 8,500 training recordings of Challenge 2017, which may include the "
    "validation recordings. So its figures may be of the variant with them, which leaks, or of "
    "the one without; they stand next to both."
)
FIGURE_NOTES = {"challenge2017": _VARIANTS, "challenge2017-leaking": _VARIANTS}
"""What is not certain about the paper's figures, by benchmark."""

_AFIB_YARDSTICK = (
    "A yardstick: a detector that sees the intervals between 8 beats alone has a sensitivity of "
    "97.1 % and a specificity of 98.3 % on MIT-AFIB (Petrėnas, Marozas and Sörnmo, 2015). The "
    "paper reports accuracies of 75 to 79 % for DEAPS there."
)
_CHALLENGE_YARDSTICK = (
    "A yardstick: the four winners of Challenge 2017 have an F1 of 0.83 on its hidden test, whose "
    "recordings are not those tested here."
)
YARDSTICKS = {
    "afib-transfer": _AFIB_YARDSTICK,
    "afib-loo": _AFIB_YARDSTICK,
    "challenge2017": _CHALLENGE_YARDSTICK,
    "challenge2017-leaking": _CHALLENGE_YARDSTICK,
}
"""What others reach on the paper's data, by benchmark."""

CLAIM_NOTE = (
    "The paper's claim is that DEAPS is ahead of five other methods wherever it tests rhythm. A "
    "like-for-like comparison of five objectives for ECG (Al-Masud and Strodthoff, 2026, arXiv "
    "2605.12241) finds contrastive predictive coding slightly ahead, which is not among the "
    "paper's methods."
)


def paper_figure(benchmark: str, method: str, column: str) -> Printed | None:
    """Return what the paper prints, None where it prints nothing.

    ``column`` is ``accuracy``, ``sensitivity``, ``specificity`` or a class's name.
    """
    key = (_SAME_FIGURES.get(benchmark, benchmark), column)
    if key not in _COLUMNS or method not in _METHODS:
        return None
    place = _METHODS.index(method)
    deviations = _DEVIATIONS.get(key)
    return Printed(_COLUMNS[key][place], deviations[place] if deviations else None)
