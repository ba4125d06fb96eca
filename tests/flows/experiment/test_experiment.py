import pytest

from deaps.method_registry import PAPER_METHODS
from flows.config import load_settings
from flows.experiment.plan import method_plan, plan_experiment, seeded_plans
from storage.errors import DeapsError


def test_the_six_methods_come_first() -> None:
    trained = plan_experiment(load_settings()).trained
    assert [t.name for t in trained if t.role == "method"] == [
        "deaps", "byol", "pclr", "clocs", "mixing-up", "tf-c",
    ]  # fmt: skip
    assert [t.role for t in trained] == ["method"] * 6 + ["ablation"] * 6


def test_equal_trainings_are_done_once() -> None:
    experiment = plan_experiment(load_settings())
    components, span, features = experiment.ablations
    names = [row.representation for row in components.rows]
    assert (names[0], names[1], names[4]) == ("pclr", "byol", "deaps")
    assert span.rows[1].representation == features.rows[1].representation == "deaps"


def test_rungs_differ_from_deaps_in_their_settings_alone() -> None:
    trained = {t.name: t.plan for t in plan_experiment(load_settings()).trained}
    covariance, gradual = trained["deaps, + covariance"], trained["deaps, + gradual loss"]
    assert (covariance.method, covariance.model.deaps.gradual) == ("deaps", False)
    assert (gradual.model.deaps.gradual, gradual.model.deaps.masked) == (True, False)
    assert trained["deaps, span 90 s"].sampling.triplet_span_s == 90
    assert trained["deaps, 48 features"].model.deaps.features == 48


def test_the_papers_figures_stand_beside_span_and_features() -> None:
    _, span, features = plan_experiment(load_settings()).ablations
    assert span.rows[0].paper == {"afib-transfer": 71.3, "afib-loo": 77.3}
    assert features.rows[2].paper == {"afib-transfer": 72.4, "afib-loo": 78.9}


def test_trials_are_trainings_with_overrides() -> None:
    settings = load_settings(
        overrides=[
            'experiment.trials.slow={overrides = ["training.warmup=50"]}',
            'experiment.trials.later={method = "byol", overrides = ["training.seed=1"]}',
        ]
    )
    slow, later = plan_experiment(settings).trained[-2:]
    assert (slow.name, slow.role, slow.changed) == ("slow", "trial", ("training.warmup=50",))
    assert (slow.plan.method, slow.plan.training.warmup) == ("deaps", 50)
    assert (later.plan.method, later.plan.training.seed) == ("byol", 1)


def test_what_is_tuned_for_a_method_holds_for_it_and_its_rungs_alone() -> None:
    settings = load_settings(
        overrides=[
            'experiment.tuned.deaps=["deaps.tau=0.9"]',
            "experiment.trials={common = {}}",
        ]
    )
    for trained in plan_experiment(settings).trained:
        is_tuned = trained.name.startswith("deaps")
        assert trained.plan.model.deaps.tau == (0.9 if is_tuned else 0.995)


def test_rungs_from_byol_on_differ_by_a_component_and_not_by_what_is_tuned() -> None:
    settings = load_settings(
        overrides=[
            'experiment.tuned.deaps=["training.learning_rate=2e-3"]',
            'experiment.tuned.byol=["training.warmup=50"]',
            'experiment.tuned.pclr=["training.learning_rate=4e-4"]',
        ]
    )
    experiment = plan_experiment(settings)
    plans = {trained.name: trained.plan for trained in experiment.trained}
    components = experiment.ablations[0].rows
    pclr, *others = (plans[row.representation or ""].training for row in components)
    assert pclr.learning_rate == 4e-4
    assert {(plan.learning_rate, plan.warmup) for plan in others} == {(2e-3, 0)}
    assert components[1].label == "BYOL, tuned as DEAPS"
    assert plans["byol"].training.warmup == 50


def test_train_trains_what_the_experiment_compares() -> None:
    settings = load_settings(preset="open")
    trained = plan_experiment(settings).trained
    for method in PAPER_METHODS:
        compared = [each.plan for each in trained if each.name == method]
        assert seeded_plans(settings, method) == compared
        assert method_plan(settings, method) == compared[0]
    assert method_plan(settings, "pclr").training.learning_rate == 1e-4


def test_a_trial_that_was_chosen_is_the_method_itself() -> None:
    tau = '["deaps.tau=0.9"]'
    settings = load_settings(
        overrides=[
            f"experiment.tuned.deaps={tau}",
            f"experiment.trials.quick={{overrides = {tau}}}",
        ]
    )
    experiment = plan_experiment(settings)
    assert "quick" not in [trained.name for trained in experiment.trained]
    assert experiment.trained[0].changed == ("deaps.tau=0.9",)


def test_a_trial_that_equals_a_rung_is_listed_beside_it() -> None:
    settings = load_settings(
        overrides=['experiment.trials.unmasked={overrides = ["deaps.masked=false"]}']
    )
    roles = [t.role for t in plan_experiment(settings).trained if not t.plan.model.deaps.masked]
    assert roles == ["ablation", "trial"]


def test_a_trials_misspelt_setting_is_refused() -> None:
    wrong = 'experiment.trials.slow={overrides = ["training.warmpu=50"]}'
    settings = load_settings(overrides=[wrong])
    with pytest.raises(DeapsError, match="did you mean 'warmup'"):
        plan_experiment(settings)


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(DeapsError, match=r"experiment\.methods"):
        load_settings(overrides=['experiment.methods=["simclr"]'])


def test_methods_and_the_ladder_have_every_seed_and_other_ablations_the_first() -> None:
    settings = load_settings(
        overrides=["experiment.seeds=[3, 5]", 'experiment.methods=["deaps", "pclr"]']
    )
    experiment = plan_experiment(settings)
    seeds: dict[str, list[int]] = {}
    for trained in experiment.trained:
        assert trained.plan.training.seed == trained.key.seed
        seeds.setdefault(trained.name, []).append(trained.key.seed)
    assert seeds["deaps"] == seeds["pclr"] == [3, 5]
    ladder, span, _ = experiment.ablations
    assert {tuple(seeds[str(row.representation)]) for row in ladder.rows} == {(3, 5)}
    assert [seeds[str(row.representation)] for row in span.rows] == [[3], [3, 5], [3]]
    assert experiment.methods() == ["deaps", "pclr"]


def test_without_seeds_there_is_that_of_training() -> None:
    settings = load_settings(overrides=["training.seed=7", 'experiment.methods=["pclr"]'])
    keys = {trained.key for trained in plan_experiment(settings).trained}
    assert {seed for _, seed in keys} == {7}


@pytest.mark.parametrize("seeds", ["[]", "[0, 1, 0]"])
def test_seeds_that_are_none_or_come_twice_are_refused(seeds: str) -> None:
    with pytest.raises(DeapsError, match="expected one seed or more, each once"):
        load_settings(overrides=[f"experiment.seeds={seeds}"])
