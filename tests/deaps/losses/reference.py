"""Formulas in plain Python, number by number, for losses to be compared with."""

from __future__ import annotations

import math

Vector = list[float]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def cosine(a: Vector, b: Vector) -> float:
    return dot(a, b) / max(math.sqrt(dot(a, a)) * math.sqrt(dot(b, b)), 1e-8)


def mean(values: Vector) -> float:
    return sum(values) / len(values)


def cross_entropy(logits: Vector, targets: Vector) -> float:
    total = sum(math.exp(logit) for logit in logits)
    terms = zip(logits, targets, strict=True)
    return -sum(target * math.log(math.exp(logit) / total) for logit, target in terms)


def nt_xent(
    view1: list[Vector], view2: list[Vector], temperature: float, subjects: list[int] | None = None
) -> float:
    rows, n = view1 + view2, len(view1)
    losses = []
    for r in range(2 * n):
        positive = (r + n) % (2 * n)
        negatives = [
            k
            for k in range(2 * n)
            if k not in (r, positive) and (not subjects or subjects[k % n] != subjects[r % n])
        ]
        logits = [cosine(rows[r], rows[k]) / temperature for k in (positive, *negatives)]
        losses.append(cross_entropy(logits, [1.0] + [0.0] * len(negatives)))
    return mean(losses)
