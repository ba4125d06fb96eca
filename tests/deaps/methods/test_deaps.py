from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from deaps.config import DeapsSettings, ModelSettings
from deaps.losses import Triplet, covariance_loss, gradual_loss, gradual_mask, static_loss
from deaps.methods.deaps import Byol, Deaps
from deaps.sampling.sampler import Batch, Views
from storage.errors import DeapsError
from tests.deaps.losses.test_gradual import reference_loss
from tests.deaps.sampling.made_batches import made_batch


def made(**overrides: object) -> Deaps:
    torch.manual_seed(0)
    method = Deaps(ModelSettings(deaps=DeapsSettings(**overrides)))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in method.teacher.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    return method


class Branch(NamedTuple):
    """Rows of the views of a branch, one view after the other."""

    projections: Tensor
    predictions: Tensor
    targets: Tensor


def branch(method: Deaps, batch: Batch, name: str, views: tuple[int, ...]) -> Branch:
    """Return what a branch's heads make of its views, each head called once."""
    student = torch.cat([method.encoder(batch.windows[:, view]) for view in views])
    teacher = torch.cat([method.teacher.encoder(batch.windows[:, view]) for view in views])
    projections = method.projectors[name](student)
    targets = method.teacher.projectors[name](teacher)
    return Branch(projections, method.predictors[name](projections), targets)


def test_loss_is_the_algorithm_step_by_step() -> None:
    method, batch = made(), made_batch(Views.QUADRUPLE)
    z_s, q_s, t_s = branch(method, batch, "static", (0, 2))
    z_d, q_d, t_d = branch(method, batch, "dynamic", (1, 2, 3))
    static = static_loss(q_s[:8], q_s[8:], t_s[:8], t_s[8:])
    gradual = gradual_loss(
        Triplet(q_d[:8], q_d[8:16], q_d[16:]),
        Triplet(t_d[:8], t_d[8:16], t_d[16:]),
        batch.before_s,
        batch.after_s,
        mask=gradual_mask(q_d[:8], q_d[16:], 32),
    )
    expected = static + gradual + 0.1 * (covariance_loss(z_s) + covariance_loss(z_d))
    torch.testing.assert_close(method(batch)["loss"], expected, atol=1e-5, rtol=0)


def test_all_that_is_logged_is_what_its_name_says() -> None:
    method, batch = made(), made_batch(Views.QUADRUPLE)
    logged = {name: term.item() for name, term in method(batch).items()}
    static = branch(method, batch, "static", (0, 2))
    dynamic = branch(method, batch, "dynamic", (1, 2, 3))
    q, t = Triplet(*dynamic.predictions.chunk(3)), Triplet(*dynamic.targets.chunk(3))
    i, j = batch.before_s, batch.after_s
    stranger = [-1, *range(7)]  # each sample has the middle of the one before it
    firsts = [triplet._replace(middle=triplet.before) for triplet in (q, t)]
    strangers = [triplet._replace(middle=triplet.middle[stranger]) for triplet in (q, t)]
    expected = {
        "gradual": reference_loss(q, t, 32, i, j),
        "gradual_swapped": reference_loss(q, t, 32, j, i),
        "gradual_first": reference_loss(*firsts, 32, i, j),
        "gradual_other_subject": reference_loss(*strangers, 32, i, j),
    }
    for name, projections in {"static": static[0], "dynamic": dynamic[0]}.items():
        rows = projections.detach().numpy()
        off_diagonal = np.corrcoef(rows.T)[~np.eye(256, dtype=bool)]
        expected[f"{name}_variance"] = rows.var(axis=0, ddof=1).mean()
        expected[f"{name}_correlation"] = np.sqrt(np.square(off_diagonal).mean())
    losses = {name: logged.pop(name) for name in ("loss", "static", "covariance")}
    assert logged == pytest.approx(expected, rel=1e-3)
    assert min(losses.values()) > 0
    # They must differ for the comparison to tell them apart.
    assert len({round(value, 4) for value in expected.values()}) == len(expected)


def test_terms_add_up_to_the_loss() -> None:
    terms = made(covariance_weight=0.3)(made_batch(Views.QUADRUPLE))
    total = terms["static"] + terms["gradual"] + 0.3 * terms["covariance"]
    torch.testing.assert_close(terms["loss"].detach(), total)


def test_byol_has_the_static_loss_alone() -> None:
    terms = Byol(ModelSettings())(made_batch(Views.PAIR))
    assert set(terms) == {"loss", "static", "static_variance", "static_correlation"}
    assert terms["loss"] == terms["static"]


def test_covariance_rung_has_one_projector_and_two_terms() -> None:
    method = made(gradual=False)
    assert list(method.projectors) == list(method.predictors) == ["static"]
    terms = set(method(made_batch(Views.PAIR)))
    assert terms == {"loss", "static", "covariance", "static_variance", "static_correlation"}


@pytest.mark.parametrize("switch", [{"masked": False}, {"mask_source": "projection"}])
def test_switches_of_the_mask_change_the_gradual_loss(switch: dict[str, object]) -> None:
    batch = made_batch(Views.QUADRUPLE)
    plain, switched = made()(batch), made(**switch)(batch)
    assert plain["static"] == switched["static"]
    assert plain["gradual"] != switched["gradual"]


def test_backward_reaches_all_of_the_student_and_none_of_the_teacher() -> None:
    method = made()
    method(made_batch(Views.QUADRUPLE))["loss"].backward()
    reached = {name for name, parameter in method.named_parameters() if parameter.grad is not None}
    expected = {name for name, _ in method.named_parameters() if not name.startswith("teacher.")}
    assert reached == expected


def test_after_step_moves_the_teacher_by_tau() -> None:
    method = made(tau=0.9)
    before = method.teacher.encoder.blocks[0].attention.inputs.weight.clone()
    method.after_step()
    student = method.encoder.blocks[0].attention.inputs.weight
    moved = method.teacher.encoder.blocks[0].attention.inputs.weight
    torch.testing.assert_close(moved, 0.9 * before + 0.1 * student)


def test_more_features_than_there_are_is_told() -> None:
    with pytest.raises(DeapsError, match=r"deaps.features is 257, but .* 256 .* masked = false"):
        made(features=257)
    assert made(features=256).settings.features == 256
