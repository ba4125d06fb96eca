"""The recipe for a method: one class and one call, and it has its row in the report."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from deaps.config import ModelSettings
from deaps.evaluation.document import Evaluation
from deaps.method_registry import METHODS, MethodEntry
from deaps.methods import register_method
from deaps.methods.interface import Method
from deaps.models.encoder import Network
from deaps.models.encoder_file import EncoderFileError, load_encoder
from deaps.report import write_report
from deaps.report.page import report_sections
from deaps.sampling.sampler import Batch, Views
from deaps.training.run_folder import Run, encoder_files, open_run, run_path
from flows.config import Settings, load_settings, overridden
from flows.experiment.plan import plan_experiment
from flows.experiment.state import load_state
from flows.monitoring.status import run_statuses
from storage.errors import DeapsError
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.deaps.report.part_lookup import rows, table
from tests.flows.inline_evaluation import evaluate_inline, one_worker, train_some

OVERRIDES = (
    'sampling.datasets=["shhs"]', "training.batch=4", "training.iterations=2",
    "training.evolution_every=1", "training.checkpoint_every=2", "training.metrics_every=1",
    'experiment.methods=["own-mean"]', "experiment.ablations=[]", "experiment.classical=false",
    "methods.own-mean.features=6",
    "benchmarks.gender_subjects=20", "benchmarks.few_recordings=2", "benchmarks.few_draws=2",
    "benchmarks.bootstrap=20",
)  # fmt: skip


class OwnMeanSettings(BaseModel):
    """Its table [methods.own-mean]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    features: int = 8
    weight: float = 1.0


class Sum(Network):
    """Some weighted sums of a window."""

    architecture = "sum"
    settings_type = OwnMeanSettings

    def __init__(self, settings: OwnMeanSettings) -> None:
        super().__init__()
        self.settings = settings
        self.linear = nn.Linear(1000, settings.features)

    def forward(self, windows: Tensor) -> Tensor:
        return self.linear(windows)


class OwnMean(Method):
    """Predicts the mean of a window's samples from its representation."""

    deviations = ("There is no paper to differ from.",)
    network = Sum
    views = Views.SINGLE

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        self.settings = self.network_settings(settings)
        self.encoder = self.new_encoder(settings)
        self.head = nn.Linear(self.settings.features, 1)

    @classmethod
    def network_settings(cls, settings: ModelSettings) -> OwnMeanSettings:
        return OwnMeanSettings.model_validate(settings.own)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        windows = batch.windows[:, 0]
        error = self.head(self.encoder(windows))[:, 0] - windows.mean(dim=1)
        return {"loss": self.settings.weight * error.square().mean()}


@pytest.fixture(scope="module")
def own_mean() -> Iterator[MethodEntry]:
    yield register_method("own-mean", OwnMean, label="Own mean", settings=OwnMeanSettings)
    METHODS.remove("own-mean")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, own_mean: MethodEntry) -> Settings:
    root = make_labelled_store(tmp_path_factory.mktemp("recipe"))
    settings = load_settings(overrides=[f"store.root={root}", *OVERRIDES])
    train_some(settings, own_mean.name)
    return settings


@pytest.fixture(scope="module")
def evaluation(settings: Settings) -> Evaluation:
    with one_worker() as client:
        return evaluate_inline(settings, client)[0]


def finished_run(settings: Settings) -> Run:
    return load_state(settings).first_runs["own-mean"]


def test_it_is_planned_with_its_own_settings(settings: Settings) -> None:
    (trained,) = plan_experiment(settings).trained
    assert (trained.name, trained.label) == ("own-mean", "Own mean")
    assert trained.plan.model.own == {"features": 6, "weight": 1.0}


def test_its_encoder_is_loaded_from_the_file(settings: Settings) -> None:
    *_, (step, path) = encoder_files(finished_run(settings).folder)
    assert step == 2
    assert load_encoder(path)(torch.randn(3, 1000)).shape == (3, 6)


def test_it_has_a_row_in_every_benchmark_of_the_report(evaluation: Evaluation) -> None:
    sections = report_sections(evaluation)
    for benchmark in ("afib-transfer", "afib-loo", "gender", "challenge2017"):
        row = rows(table(sections, f"table-{benchmark}"))["Own mean"]
        assert row.cells[0].text not in ("", "not run")


def test_the_page_names_it(evaluation: Evaluation, tmp_path: Path) -> None:
    assert "Own mean" in write_report(evaluation, tmp_path).read_text()


def test_the_report_gives_its_measured_size_and_its_deviations(evaluation: Evaluation) -> None:
    shown = evaluation.representation("own-mean")
    assert (shown.features, shown.parameters) == (6, 6 * 1000 + 6)
    assert shown.deviations == ("There is no paper to differ from.",)


def test_its_training_is_followed_over_the_steps(evaluation: Evaluation) -> None:
    curves = {e.benchmark: e.steps for e in evaluation.evolution}
    assert curves["challenge2017"] == (0, 1, 2)


def test_another_value_of_its_settings_is_another_run(settings: Settings) -> None:
    changed = overridden(settings, ["methods.own-mean.features=7"])
    (trained,) = plan_experiment(changed).trained
    run = finished_run(settings)
    assert run_path(settings.store.root, trained.plan, run.snapshot_id) != run.folder


def test_a_misspelt_key_of_its_table_stops_before_any_work(own_mean: MethodEntry) -> None:
    with pytest.raises(DeapsError, match=r"\[methods.own-mean\] featurs: Extra inputs"):
        load_settings(overrides=["methods.own-mean.featurs=6"])


def test_a_method_without_a_table_refuses_one() -> None:
    with pytest.raises(DeapsError, match=r"method 'byol' has no settings in \[methods.byol\]"):
        load_settings(overrides=["methods.byol.features=6"])


def test_without_the_package_its_run_and_its_encoder_are_named(
    settings: Settings, own_mean: MethodEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run(settings)
    *_, (_, path) = encoder_files(run.folder)
    monkeypatch.delitem(METHODS._items, own_mean.name)
    with pytest.raises(DeapsError, match="no method 'own-mean'"):
        open_run(run.folder)
    with pytest.raises(EncoderFileError, match=r"cannot be loaded: no method 'own-mean'"):
        load_encoder(path)
    assert [status.state for status in run_statuses(settings.store.root)] == ["unreadable"]


def test_it_joins_by_an_entry_point_without_torch(tmp_path: Path) -> None:
    """A package that is installed: its module names the class and imports no torch."""
    (tmp_path / "ours.py").write_text(
        "from deaps.methods import register_method\n"
        "register_method('ours', 'ours_method:Ours', label='Ours')\n"
    )
    about = tmp_path / "ours-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[deaps.methods]\nours = ours\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from flows.config import load_settings; "
        "print(load_settings(overrides=['experiment.methods=[\"ours\"]']).experiment.methods, "
        "'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "('ours',) False\n"
