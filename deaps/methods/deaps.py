"""DEAPS, BYOL on which it builds, and the ablation steps between them."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from deaps.config import DeapsSettings, ModelSettings
from deaps.losses import Triplet, covariance_loss, gradual_loss, gradual_mask, static_loss
from deaps.methods.interface import Method, encode_views, stack_views
from deaps.models.heads import FEATURES, Teacher, gather_rows, predictor, projector
from deaps.sampling.sampler import Batch, Views
from storage.errors import DeapsError

# Which windows of a sample each branch sees; a quadruple is X1, X(t-i), X(t), X(t+j).
_PAIR = {"static": (0, 1)}
_QUADRUPLE = {"static": (0, 2), "dynamic": (1, 2, 3)}


class _Branch(NamedTuple):
    """What one projector and one predictor make of the global batch."""

    projections: Tensor
    """(views * N, 256): the student's, with gradient."""

    predictions: tuple[Tensor, ...]
    """(N, 256) for each view: the student's, with gradient."""

    targets: tuple[Tensor, ...]
    """(N, 256) for each view: the teacher's projections."""


class Deaps(Method):
    """Distilled Embedding for Almost-Periodic Time Series: L_sim + L_gra + alpha L_c.

    Without the gradual loss a sample is a pair, and there is one projector and one predictor:
    BYOL, with the covariance loss on its one projection unless that is switched off, too.
    """

    deviations: ClassVar[tuple[str, ...]] = (
        "Where the paper says nothing: the teacher's batch norms use the batch's statistics, and "
        "only parameters are averaged into it.",
        "The mask compares the student's predictions, as in the paper's algorithm.",
    )

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        self.settings = _checked(settings.deaps)
        self.views = Views.QUADRUPLE if self.settings.gradual else Views.PAIR
        self.branches = _QUADRUPLE if self.settings.gradual else _PAIR
        self.encoder = self.new_encoder(settings)
        self.projectors = nn.ModuleDict({name: projector() for name in self.branches})
        self.predictors = nn.ModuleDict({name: predictor() for name in self.branches})
        self.teacher = Teacher(
            self.encoder, self.projectors, average_buffers=self.settings.teacher_buffers
        )

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``loss`` and its terms ``static``, ``gradual`` and ``covariance`` (unweighted).

        With them come the diagnostics below: gradual probes and projection spreads.
        """
        student = gather_rows(encode_views(self.encoder, batch.windows))
        teacher = gather_rows(encode_views(self.teacher, batch.windows))
        branches = {name: self._branch(name, student, teacher) for name in self.branches}
        static = branches["static"]
        probes = _spreads(branches)
        terms = {"static": static_loss(*static.predictions, *static.targets)}
        if self.settings.gradual:
            terms["gradual"], spoiled = self._gradual(branches["dynamic"], batch)
            probes |= spoiled
        loss = torch.stack(list(terms.values())).sum()
        if self.settings.covariance_weight:
            each = [covariance_loss(branch.projections) for branch in branches.values()]
            terms["covariance"] = torch.stack(each).sum()
            loss = loss + self.settings.covariance_weight * terms["covariance"]
        return {"loss": loss} | {name: term.detach() for name, term in terms.items()} | probes

    def after_step(self) -> None:
        """Move the teacher: after the optimiser, as in the paper's algorithm."""
        self.teacher.update(self.settings.tau)

    def _branch(self, name: str, student: Tensor, teacher: Tensor) -> _Branch:
        """Return one branch's rows from representations, (N, views, 128); each head runs once."""
        views = self.branches[name]
        projections = self.projectors[name](stack_views(student, views))
        predictions = self.predictors[name](projections)
        targets = self.teacher.project(name, stack_views(teacher, views))
        return _Branch(projections, predictions.chunk(len(views)), targets.chunk(len(views)))

    def _gradual(self, dynamic: _Branch, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        triplets = Triplet(*dynamic.predictions), Triplet(*dynamic.targets)
        times = gather_rows(batch.before_s), gather_rows(batch.after_s)
        mask = self._mask(dynamic) if self.settings.masked else None
        loss = gradual_loss(*triplets, *times, mask=mask)
        return loss, gradual_probes(*triplets, *times, mask=mask)

    def _mask(self, dynamic: _Branch) -> Tensor:
        if self.settings.mask_source == "prediction":
            compared = dynamic.predictions
        else:
            compared = dynamic.projections.chunk(len(self.branches["dynamic"]))
        return gradual_mask(compared[0], compared[-1], self.settings.features)


def _spreads(branches: dict[str, _Branch]) -> dict[str, Tensor]:
    spreads: dict[str, Tensor] = {}
    for name, branch in branches.items():
        variance, correlation = projection_spread(branch.projections.detach())
        spreads |= {f"{name}_variance": variance, f"{name}_correlation": correlation}
    return spreads


def _checked(settings: DeapsSettings) -> DeapsSettings:
    if settings.features > FEATURES:
        raise DeapsError(
            f"deaps.features is {settings.features}, but projections have {FEATURES} features; "
            f"choose 1 to {FEATURES}, or masked = false to use them all"
        )
    return settings


class Byol(Deaps):
    """Bootstrap Your Own Latent on pairs of one subject: the static loss alone.

    "The loss function only measures the similarities between the student/teacher output pairs."
    The teacher's settings are those of DEAPS; what DEAPS adds is always off.
    """

    deviations = (
        "Pairs are windows of two visits, without augmentations, as in the paper's baseline.",
    )

    def __init__(self, settings: ModelSettings) -> None:
        plain = settings.deaps.model_copy(update={"gradual": False, "covariance_weight": 0.0})
        super().__init__(settings.model_copy(update={"deaps": plain}))


@torch.no_grad()
def gradual_probes(
    predictions: Triplet,
    targets: Triplet,
    before_s: Tensor,
    after_s: Tensor,
    *,
    mask: Tensor | None,
) -> dict[str, Tensor]:
    """Return the gradual loss of spoiled triplets; each shows what the loss would not notice.

    ``gradual_swapped``: i and j exchanged. Equal to the loss, time within the triplet is unused.
    ``gradual_first``: X(t-i) in the middle. Equal to the loss, the middle adds nothing.
    ``gradual_other_subject``: another sample's middle. Far above the loss, the subject is used.
    """
    others = [Triplet(t.before, t.middle.roll(1, 0), t.after) for t in (predictions, targets)]
    firsts = [Triplet(t.before, t.before, t.after) for t in (predictions, targets)]
    return {
        "gradual_swapped": gradual_loss(predictions, targets, after_s, before_s, mask=mask),
        "gradual_first": gradual_loss(firsts[0], firsts[1], before_s, after_s, mask=mask),
        "gradual_other_subject": gradual_loss(others[0], others[1], before_s, after_s, mask=mask),
    }


@torch.no_grad()
def projection_spread(projections: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean variance of features, and the root mean square of their correlations.

    The covariance loss falls with either: shrinking the projections is the cheap way.
    """
    projections = projections.float()
    centred = projections - projections.mean(dim=0)
    variance = centred.square().sum(dim=0) / (len(projections) - 1)
    scaled = centred / variance.clamp(min=1e-12).sqrt()
    correlation = scaled.T @ scaled / (len(projections) - 1)
    features = len(correlation)
    off_diagonal = correlation.square().sum() - correlation.diagonal().square().sum()
    return variance.mean(), (off_diagonal / (features * (features - 1))).sqrt()
