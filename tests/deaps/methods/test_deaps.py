from __future__ import annotations

import pytest
import torch

from deaps.config import DeapsSettings, ModelSettings
from deaps.losses.covariance import covariance_loss
from deaps.losses.gradual import Triplet, gradual_loss, gradual_mask
from deaps.losses.static import static_loss
from deaps.methods.byol import Byol
from deaps.methods.deaps import Deaps
from deaps.sampling.batch import Views
from storage.errors import DeapsError
from tests.deaps.sampling.made_batches import made_batch


def made(**overrides: object) -> Deaps:
    torch.manual_seed(0)
    method = Deaps(ModelSettings(deaps=DeapsSettings(**overrides)))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in method.teacher.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    return method


def test_loss_is_the_algorithm_step_by_step() -> None:
    method, batch = made(), made_batch(Views.QUADRUPLE)
    student = [method.encoder(batch.windows[:, view]) for view in range(4)]
    teacher = [method.teacher.encoder(batch.windows[:, view]) for view in range(4)]
    z_s = method.projectors["static"](torch.cat([student[0], student[2]]))
    z_d = method.projectors["dynamic"](torch.cat(student[1:]))
    q_s, q_d = method.predictors["static"](z_s), method.predictors["dynamic"](z_d)
    t_s = method.teacher.projectors["static"](torch.cat([teacher[0], teacher[2]]))
    t_d = method.teacher.projectors["dynamic"](torch.cat(teacher[1:]))
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
