from __future__ import annotations

import torch
from torch import nn

from deaps.models.heads import Teacher


def made_student() -> tuple[nn.Module, nn.ModuleDict]:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))
    return encoder, nn.ModuleDict({"static": nn.Linear(4, 3)})


def changed(*modules: nn.Module) -> None:
    with torch.no_grad():
        for module in modules:
            for tensor in (*module.parameters(), *module.buffers()):
                tensor.add_(2)


def test_teacher_starts_as_an_equal_copy() -> None:
    encoder, projectors = made_student()
    teacher = Teacher(encoder, projectors)
    windows = torch.randn(5, 6)
    assert torch.equal(teacher(windows), encoder(windows))
    assert not {id(p) for p in teacher.parameters()} & {id(p) for p in encoder.parameters()}


def test_update_moves_by_one_minus_tau() -> None:
    encoder, projectors = made_student()
    teacher = Teacher(encoder, projectors)
    before = [p.clone() for p in teacher.parameters()]
    changed(encoder, projectors)
    teacher.update(tau=0.75)
    student = [*encoder.parameters(), *projectors.parameters()]
    for old, new, theirs in zip(before, teacher.parameters(), student, strict=True):
        torch.testing.assert_close(new, 0.75 * old + 0.25 * theirs, atol=1e-7, rtol=1e-6)


def test_tau_of_one_stays_and_of_zero_copies() -> None:
    encoder, projectors = made_student()
    teacher = Teacher(encoder, projectors)
    changed(encoder, projectors)
    before = teacher.encoder[0].weight.clone()
    teacher.update(tau=1)
    assert torch.equal(teacher.encoder[0].weight, before)
    teacher.update(tau=0)
    assert torch.equal(teacher.encoder[0].weight, encoder[0].weight)


def test_buffers_follow_only_where_asked() -> None:
    encoder, projectors = made_student()
    still, following = (
        Teacher(encoder, projectors, average_buffers=average) for average in (False, True)
    )
    changed(encoder)
    for teacher in (still, following):
        teacher.update(tau=0.5)
    assert still.encoder[1].running_mean.tolist() == [0] * 4
    assert following.encoder[1].running_mean.tolist() == [1] * 4
    assert following.encoder[1].num_batches_tracked == 2


def test_teacher_gets_no_gradient() -> None:
    teacher = Teacher(*made_student())
    projected = teacher.project("static", teacher(torch.randn(5, 6)))
    assert not projected.requires_grad
    assert not any(p.requires_grad for p in teacher.parameters())


def test_batch_norm_uses_batch_statistics_also_in_evaluation() -> None:
    model = nn.ModuleDict({"teacher": Teacher(*made_student())}).eval()
    normed = model["teacher"](torch.randn(50, 6) + 9)
    assert normed.mean(dim=0).abs().max() < 1e-5


def test_student_is_no_part_of_the_teacher() -> None:
    names = dict(Teacher(*made_student()).named_parameters())
    assert all(name.startswith(("encoder.", "projectors.")) for name in names)
    assert len(names) == 6
