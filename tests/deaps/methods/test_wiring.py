"""Every method's loss from plain formulas, and one step of the loop from Adam's and EMA's own."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deaps.config import (
    ContrastSettings,
    DeapsSettings,
    EncoderSettings,
    ModelSettings,
    TfcSettings,
    TrainingSettings,
)
from deaps.methods import build_method
from deaps.methods.contrastive import Clocs, MixingUp, Pclr, mixing_share
from deaps.methods.deaps import Byol
from deaps.methods.tfc import Draws, Tfc, augment_frequency, augment_time
from deaps.models.encoder import Encoder
from deaps.models.tfc_model import spectrum
from deaps.sampling.sampler import Batch, Views
from deaps.train import prepare, take_step
from tests.deaps.losses import reference
from tests.deaps.losses.test_clocs import reference as clocs_reference
from tests.deaps.sampling.made_batches import made_batch

TEMPERATURE = 0.37
"""Like no default, so that a method that does not hand it on is found out."""


at_temperatures = pytest.mark.parametrize(
    ("settings", "temperature"), [({"temperature": TEMPERATURE}, TEMPERATURE), ({}, 0.1)]
)
"""Settings of a contrastive method, and the temperature that they stand for: 0.1 by default."""


def contrast(**values: object) -> ModelSettings:
    torch.manual_seed(0)
    return ModelSettings(contrast=ContrastSettings(**values))  # type: ignore[arg-type]


def projections(method: Any, batch: Batch) -> list[list[list[float]]]:
    """Return each view's projections, all views through the projector together."""
    views = [method.encoder(batch.windows[:, view]) for view in range(batch.windows.shape[1])]
    rows = method.projector(torch.cat(views))
    return [part.tolist() for part in rows.chunk(len(views))]


def with_repeated_subjects(views: Views) -> Batch:
    batch = made_batch(views)
    subjects = torch.arange(len(batch.subjects)) // 2
    return Batch(batch.windows, batch.before_s, batch.after_s, subjects, batch.seed)


def test_byol_predicts_each_window_from_the_other_visit() -> None:
    torch.manual_seed(0)
    method, batch = Byol(ModelSettings()), made_batch(Views.PAIR)
    with torch.no_grad():
        for parameter in method.teacher.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    student = torch.cat([method.encoder(batch.windows[:, view]) for view in (0, 1)])
    teacher = torch.cat([method.teacher.encoder(batch.windows[:, view]) for view in (0, 1)])
    q1, q2 = method.predictors["static"](method.projectors["static"](student)).chunk(2)
    t1, t2 = method.teacher.projectors["static"](teacher).chunk(2)
    rows = zip(q1.tolist(), q2.tolist(), t1.tolist(), t2.tolist(), strict=True)
    expected = reference.mean(
        [
            0.5 * (1 - reference.cosine(a, d)) + 0.5 * (1 - reference.cosine(b, c))
            for a, b, c, d in rows
        ]
    )
    assert method(batch)["loss"].item() == pytest.approx(expected, abs=1e-5)


@at_temperatures
@pytest.mark.parametrize("exclude", [True, False])
def test_pclr_is_nt_xent_at_its_temperature_without_rows_of_the_same_subject(
    settings: dict[str, float], temperature: float, exclude: bool
) -> None:
    method = Pclr(contrast(exclude_same_subject=exclude, **settings))
    batch = with_repeated_subjects(Views.PAIR)
    view1, view2 = projections(method, batch)
    subjects = batch.subjects.tolist() if exclude else None
    expected = reference.nt_xent(view1, view2, temperature, subjects)
    assert method(batch)["loss"].item() == pytest.approx(expected, rel=1e-4)


@at_temperatures
def test_clocs_is_its_formula_at_its_temperature(
    settings: dict[str, float], temperature: float
) -> None:
    method, batch = Clocs(contrast(**settings)), with_repeated_subjects(Views.ADJACENT)
    view1, view2 = projections(method, batch)
    expected = clocs_reference(view1, view2, batch.subjects.tolist(), temperature)
    assert method(batch)["loss"].item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "temperature", "alpha"),
    [({"mixing_temperature": 0.23, "mixing_alpha": 0.4}, 0.23, 0.4), ({}, 0.5, 0.2)],
)
def test_mixing_up_asks_the_mixture_for_the_share_of_each_window(
    settings: dict[str, float], temperature: float, alpha: float
) -> None:
    method = MixingUp(contrast(**settings))
    batch = made_batch(Views.PARTNER)
    share = mixing_share(alpha, batch.seed)
    first, second = batch.windows.unbind(dim=1)
    stacked = torch.cat(
        [method.encoder(x) for x in (share * first + (1 - share) * second, first, second)]
    )
    mixed, view1, view2 = (part.tolist() for part in method.projector(stacked).chunk(3))
    losses = []
    for row, mixture in enumerate(mixed):
        logits = [reference.cosine(mixture, other) / temperature for other in (*view1, *view2)]
        targets = [0.0] * len(logits)
        targets[row], targets[row + len(mixed)] = share, 1 - share
        losses.append(reference.cross_entropy(logits, targets))
    assert method(batch)["loss"].item() == pytest.approx(reference.mean(losses), rel=1e-4)


@pytest.mark.parametrize(
    ("changed_settings", "temperature", "weight"),
    [({"temperature": TEMPERATURE, "within_weight": 0.6}, TEMPERATURE, 0.6), ({}, 0.2, 0.2)],
)
def test_tfc_compares_windows_with_augmented_ones_and_time_with_frequency(
    changed_settings: dict[str, float], temperature: float, weight: float
) -> None:
    torch.manual_seed(0)
    settings = TfcSettings(**changed_settings)  # type: ignore[arg-type]
    method, batch = Tfc(ModelSettings(tfc=settings)), made_batch(Views.SINGLE)
    windows = batch.windows[:, 0]
    draws = Draws(batch, whole=method.encoder.across_batch)
    augmented = augment_time(windows, draws, jitter=settings.jitter)
    spectra = spectrum(windows)
    changed = augment_frequency(
        spectra, draws, bins_changed=settings.bins_changed, raise_by=settings.raise_by
    )
    assert not torch.allclose(augmented, windows)
    assert not torch.allclose(changed, spectra)
    model = method.encoder
    time, time_augmented = model.time_encoder(windows), model.time_encoder(augmented)
    frequency, altered = model.frequency_encoder(spectra), model.frequency_encoder(changed)
    between = model.time_projector(time), model.frequency_projector(frequency)
    within = [(time, time_augmented), (frequency, altered)]
    expected = weight * sum(_nt_xent(*pair, temperature) for pair in within)
    expected += _nt_xent(*between, temperature)
    assert method(batch)["loss"].item() == pytest.approx(expected, rel=1e-4)


def _nt_xent(first: Tensor, second: Tensor, temperature: float) -> float:
    return reference.nt_xent(first.tolist(), second.tolist(), temperature)


def test_initial_weights_are_truncated_at_two_deviations_of_their_layer() -> None:
    torch.manual_seed(0)
    weights = {
        name: module.weight.detach()
        for name, module in Encoder(EncoderSettings()).named_modules()
        if isinstance(module, nn.Linear)
    }
    # A normal distribution cut at two deviations has 0.880 of its deviation.
    for name, values in weights.items():
        std = 20**-0.5 if name.startswith("embedding") else 0.02
        assert values.std().item() == pytest.approx(0.880 * std, rel=0.05), name
        assert values.abs().max() <= 2 * std, name


def test_xavier_weights_are_uniform_up_to_their_bound() -> None:
    torch.manual_seed(0)
    for name, module in Encoder(EncoderSettings(initial="xavier")).named_modules():
        if isinstance(module, nn.Linear):
            bound = math.sqrt(6 / (module.in_features + module.out_features))
            assert module.weight.abs().max().item() == pytest.approx(bound, rel=0.02), name
            assert not module.bias.any()


def stepped(training: TrainingSettings, tau: float, steps: int) -> tuple[Any, list[Batch]]:
    """Return the state after some steps of the loop, and the batches it saw."""
    model = ModelSettings(deaps=DeapsSettings(tau=tau))
    plan = SimpleNamespace(method="byol", model=model, training=training)
    run: Any = SimpleNamespace(plan=plan, name="made")
    state = prepare(run, torch.device("cpu"), 0, 1)
    batches = [made_batch(Views.PAIR) for _ in range(steps)]
    for number, batch in enumerate(batches, start=1):
        take_step(state, batch, number)
    return state, batches


def test_steps_are_those_of_adam_with_weight_decay_and_of_the_teachers_average() -> None:
    rate, decay, tau, steps = 2e-3, 0.05, 0.8, 3
    training = TrainingSettings(
        learning_rate=rate, weight_decay=decay, warmup=0, seed=4, precision="float32"
    )
    state, batches = stepped(training, tau, steps)
    torch.manual_seed(4)
    ours: Any = build_method("byol", ModelSettings(deaps=DeapsSettings(tau=tau)))
    trained = {n: p for n, p in ours.named_parameters() if p.requires_grad}
    first = {n: torch.zeros_like(p) for n, p in trained.items()}
    second = {n: torch.zeros_like(p) for n, p in trained.items()}
    for number, batch in enumerate(batches, start=1):
        ours.zero_grad()
        ours(batch)["loss"].backward()
        with torch.no_grad():
            for name, weight in trained.items():
                # Adam adds the decay to the gradient; AdamW would take it off the weight.
                gradient = weight.grad + decay * weight  # type: ignore[operator]
                first[name] = 0.9 * first[name] + 0.1 * gradient
                second[name] = 0.999 * second[name] + 0.001 * gradient**2
                mean = first[name] / (1 - 0.9**number)
                spread = (second[name] / (1 - 0.999**number)).sqrt()
                weight -= rate * mean / (spread + 1e-8)
            for pair in _teacher_and_student(ours):
                pair[0].mul_(tau).add_(pair[1], alpha=1 - tau)
    expected = dict(ours.named_parameters())
    compared = 0
    for name, weight in state.method.named_parameters():
        # Where the gradient is nothing but rounding (a key's bias), Adam makes steps of that.
        known = (
            second[name] > 1e-12 if name in second else torch.ones_like(weight, dtype=torch.bool)
        )
        if "teacher" in name:
            known = known & name.endswith("weight")
        compared += int(known.sum())
        torch.testing.assert_close(
            weight[known], expected[name][known], atol=5e-5, rtol=1e-3, msg=name
        )
    assert compared > 1_000_000


def _teacher_and_student(method: Any) -> list[tuple[Tensor, Tensor]]:
    pairs = [
        (method.teacher.encoder, method.encoder),
        (method.teacher.projectors, method.projectors),
    ]
    return [
        (mine, theirs)
        for average, student in pairs
        for mine, theirs in zip(average.parameters(), student.parameters(), strict=True)
    ]


def test_the_warm_up_raises_the_rate_step_by_step() -> None:
    training = TrainingSettings(learning_rate=1e-3, warmup=4, seed=0, precision="float32")
    state, _ = stepped(training, 0.99, 3)
    assert state.optimizer.param_groups[0]["lr"] == pytest.approx(0.75e-3)
