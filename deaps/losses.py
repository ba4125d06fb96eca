"""The losses as functions of tensors; each is a mean over the batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, ParamSpec

import torch
from torch import Tensor
from torch.nn import functional

Arguments = ParamSpec("Arguments")


def in_float32(loss: Callable[Arguments, Tensor]) -> Callable[Arguments, Tensor]:
    """Return ``loss`` computed in float32, outside autocast, on positional tensors.

    Autocast would cast the matrix products of a loss to half precision again, and exponentials
    and differences of nearly equal numbers cannot afford that. Doubles stay doubles.
    """

    @wraps(loss)
    def computed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Tensor:
        raised = [_raise(argument) for argument in args]
        device = next(argument.device for argument in args if isinstance(argument, Tensor))
        with torch.autocast(device.type, enabled=False):
            return loss(*raised, **kwargs)  # type: ignore[arg-type]

    return computed


def _raise(argument: object) -> object:
    if isinstance(argument, Tensor) and argument.dtype in (torch.float16, torch.bfloat16):
        return argument.float()
    return argument


EPSILON = 1e-8


@in_float32
def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Return 1 - cos(a, b) of each pair of rows: (n, d), (n, d) to (n,).

    The paper's equation of L_sim: 1 - a.b / max(|a| |b|, epsilon). The floor is under the
    product of the norms; torch's own function has one under each.
    """
    norms = torch.linalg.vector_norm(a, dim=1) * torch.linalg.vector_norm(b, dim=1)
    return 1 - (a * b).sum(dim=1) / norms.clamp_min(EPSILON)


def static_loss(
    prediction1: Tensor, prediction2: Tensor, target1: Tensor, target2: Tensor
) -> Tensor:
    """Return the static loss, a scalar, of two sides of N samples.

    The algorithm: "0.5 (L_sim(Q_s(z1), zeta2) + L_sim(Q_s(z2), zeta1))".

    Parameters
    ----------
    prediction1, prediction2
        (N, d): the student's predictions.
    target1, target2
        (N, d): the teacher's projections.
    """
    there = cosine_distance(prediction1, target2)
    back = cosine_distance(prediction2, target1)
    return 0.5 * (there + back).mean()


@in_float32
def covariance_loss(projections: Tensor) -> Tensor:
    """Return the covariance loss, a scalar, of projections, (rows, d).

    The paper: "L_c = 1/d sum over i != j of C(z)_ij^2, where C is the covariance matrix computed
    on the student projection". The divisor of C is rows - 1, as in VICReg.
    """
    rows, features = projections.shape
    centred = projections - projections.mean(dim=0)
    covariance = centred.T @ centred / (rows - 1)
    diagonal = torch.eye(features, dtype=torch.bool, device=projections.device)
    # Taken out before squaring: the difference of two large sums would lose small ones.
    return covariance.masked_fill(diagonal, 0).square().sum() / features


class Triplet(NamedTuple):
    """Features of X(t-i), X(t) and X(t+j), each (N, d)."""

    before: Tensor
    middle: Tensor
    after: Tensor

    def masked(self, mask: Tensor) -> Triplet:
        """Return the triplet with zeros outside ``mask``, (N, d)."""
        return Triplet(*(features * mask for features in self))


@in_float32
def interpolate(before: Tensor, after: Tensor, before_s: Tensor, after_s: Tensor) -> Tensor:
    """Return the pondered average representation of X(t), (N, d).

    The paper: "PAR(z(t-i), z(t+j)) = (z(t-i) j + z(t+j) i) / (i + j)", the straight line between
    the two, read at t.

    Parameters
    ----------
    before, after
        (N, d): of X(t-i) and X(t+j).
    before_s, after_s
        (N,): i and j, of any one unit.
    """
    i, j = before_s.unsqueeze(1), after_s.unsqueeze(1)
    return (before * j + after * i) / (i + j)


@torch.no_grad()
def gradual_mask(before: Tensor, after: Tensor, features: int) -> Tensor:
    """Return which features of each sample change most over its triplet, bool (N, d).

    The paper: "(i) It calculates the absolute difference between the values dynamic projections
    of each input pair belonging to the X(t-i) and X(t+j) batches, (ii) the N values that exhibit
    a larger difference are considered". The choice has no gradient.

    Parameters
    ----------
    before, after
        (N, d): of X(t-i) and X(t+j).
    features
        How many are chosen for each sample; at most d.
    """
    chosen = (before.float() - after.float()).abs().topk(features, dim=1, sorted=False).indices
    return torch.zeros_like(before, dtype=torch.bool).scatter_(1, chosen, True)


def gradual_loss(
    predictions: Triplet,
    targets: Triplet,
    before_s: Tensor,
    after_s: Tensor,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the gradual loss, a scalar, of N triplets.

    The algorithm: "0.5 (L_gra(m Q_d(z(t-i)), m zeta(t), m Q_d(z(t+j))) + L_gra(m zeta(t-i),
    m Q_d(z(t)), m zeta(t+j)))", where L_gra is the cosine distance of the middle one from the
    PAR of the others.

    Parameters
    ----------
    predictions
        (N, d) each: the student's.
    targets
        (N, d) each: the teacher's projections.
    before_s, after_s
        (N,): seconds from X(t-i) to X(t), and from X(t) to X(t+j).
    mask
        bool (N, d): features that count; by default all. The others are given no gradient.
    """
    if mask is not None:
        predictions, targets = predictions.masked(mask), targets.masked(mask)
    ends = interpolate(predictions.before, predictions.after, before_s, after_s)
    line = interpolate(targets.before, targets.after, before_s, after_s)
    by_ends = cosine_distance(targets.middle, ends)
    by_middle = cosine_distance(predictions.middle, line)
    return 0.5 * (by_ends + by_middle).mean()


@in_float32
def nt_xent(
    view1: Tensor, view2: Tensor, *, temperature: float, subjects: Tensor | None = None
) -> Tensor:
    """Return NT-Xent, a scalar, of N samples in two views.

    Each of the 2N rows is to find its other view among all other rows: the mean over rows r of
    -log(exp(s(r, p) / T) / sum over k != r of exp(s(r, k) / T)), s the cosine, p the other view,
    so that there are 2N - 2 negatives.

    Parameters
    ----------
    view1, view2
        (N, d): row k of one belongs to row k of the other.
    temperature
        T.
    subjects
        int64 (N,): where given, rows of the same subject other than the row's other view are
        left out of the denominator, being no negatives.
    """
    rows = functional.normalize(torch.cat([view1, view2]), dim=1)
    positives = torch.arange(len(rows), device=rows.device).roll(len(view1))
    similarities = rows @ rows.T / temperature
    left_out = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
    if subjects is not None:
        left_out = left_out | _same_subject(subjects, positives)
    return functional.cross_entropy(similarities.masked_fill(left_out, -torch.inf), positives)


def _same_subject(subjects: Tensor, positives: Tensor) -> Tensor:
    """Return which pairs of rows are of one subject but no positive pair, bool (2N, 2N)."""
    doubled = subjects.repeat(2)
    same = doubled.unsqueeze(0) == doubled.unsqueeze(1)
    return same.scatter(1, positives.unsqueeze(1), False)


@in_float32
def clocs_loss(view1: Tensor, view2: Tensor, subjects: Tensor, *, temperature: float) -> Tensor:
    """Return the loss, a scalar, of N samples in two views; negatives are across views only.

    Of the N x N matrix of cosines / temperature, view 1 by rows and view 2 by columns, the log
    of the softmax is taken along rows and along columns. The terms are minus the mean of each
    over the diagonal (a window and its neighbour), and minus the mean of each over the
    off-diagonal pairs of one subject. The loss is the mean of the terms, which are two where no
    subject occurs twice, so that batches with and without such pairs are of one scale.

    Parameters
    ----------
    view1, view2
        (N, d): row k of one belongs to row k of the other.
    subjects
        int64 (N,).
    temperature
        Divides the cosines.
    """
    rows1, rows2 = functional.normalize(view1, dim=1), functional.normalize(view2, dim=1)
    similarities = rows1 @ rows2.T / temperature
    # The mean of the two terms of a set of pairs is the mean over the sum of both softmaxes.
    both = 0.5 * (similarities.log_softmax(dim=1) + similarities.log_softmax(dim=0))
    same = subjects.unsqueeze(0) == subjects.unsqueeze(1)
    others = same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)
    # Counted instead of asked for with `if`, which would make an accelerator wait.
    count = others.sum()
    diagonal = -both.diagonal().mean()
    off_diagonal = -(both * others).sum() / count.clamp_min(1)
    return (diagonal + off_diagonal) / (1 + (count > 0))


@in_float32
def mixing_up_loss(
    mixture: Tensor, view1: Tensor, view2: Tensor, *, share: float, temperature: float
) -> Tensor:
    """Return the loss, a scalar, of N mixtures of two windows each.

    The cross entropy between the softmax over the 2N cosines / temperature of a mixture with
    all first and all second windows, and soft targets: ``share`` at its own first window,
    1 - ``share`` at its own second.

    Parameters
    ----------
    mixture, view1, view2
        (N, d): projections of share * x1 + (1 - share) * x2, of x1 and of x2.
    share
        Of the first window, in [0, 1]: the lambda of the batch.
    temperature
        Divides the cosines.
    """
    rows = functional.normalize(mixture, dim=1)
    candidates = functional.normalize(torch.cat([view1, view2]), dim=1)
    logs = (rows @ candidates.T / temperature).log_softmax(dim=1)
    own1, own2 = logs.diagonal(), logs.diagonal(offset=len(rows))
    return -(share * own1 + (1 - share) * own2).mean()


class TfcTerms(NamedTuple):
    """The three scalars of the loss."""

    time: Tensor
    frequency: Tensor
    between: Tensor

    def total(self, within_weight: float) -> Tensor:
        """Return w (L_t + L_f) + L_TF."""
        return within_weight * (self.time + self.frequency) + self.between


def tfc_terms(
    time: tuple[Tensor, Tensor],
    frequency: tuple[Tensor, Tensor],
    between: tuple[Tensor, Tensor],
    *,
    temperature: float,
) -> TfcTerms:
    """Return L_t, L_f and L_TF, each the NT-Xent of a pair of views of N windows.

    Parameters
    ----------
    time, frequency
        (N, 1000) each: encoder outputs of a window (or spectrum) and of its augmentation.
    between
        (N, 128) each: projections of time and of frequency.
    temperature
        Of NT-Xent.
    """
    return TfcTerms(
        *(nt_xent(*pair, temperature=temperature) for pair in (time, frequency, between))
    )
