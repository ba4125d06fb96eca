"""Settings of encoder, methods, sampling and training.

Each default, unit and explanation of a setting lives here and nowhere else. Defaults are the
paper's; what the paper leaves open is a setting, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from deaps.method_registry import find_method, method_names
from storage.config import SettingsSection
from storage.errors import DeapsError
from storage.snapshot import sql_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def _registered(name: str) -> str:
    try:
        return find_method(name).name
    except DeapsError as error:
        raise PydanticCustomError("method", "{message}", {"message": str(error)}) from None


MethodName = Annotated[
    str,
    AfterValidator(_registered),
    # Prefect's pages offer these to choose from.
    Field(json_schema_extra=lambda schema: schema.update(enum=list(method_names()))),
]
"""Name of a registered method."""

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class OwnSettings(SettingsSection):
    """Settings of methods from other packages: a table ``[methods.NAME]`` each."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)

    @model_validator(mode="after")
    def _check_tables(self) -> Self:
        try:
            for name in self.__pydantic_extra__:
                self.of(name)
        except DeapsError as error:
            raise PydanticCustomError("method", "{message}", {"message": str(error)}) from None
        return self

    def of(self, method: str) -> dict[str, Any]:
        """Return a method's own settings, defaults filled in; empty if it has none."""
        return find_method(method).own_settings(self.__pydantic_extra__.get(method, {}))


class EncoderSettings(SettingsSection):
    """The transformer that turns a window into a representation."""

    norm: Literal["embedding", "final"] = "embedding"
    """Where the layer norm outside the blocks stands: after the patches' linear layer,
    or after the last block. Both give 1,192,616 parameters."""

    patch_norm: Literal["layer", "batch"] = "layer"
    """How a patch's 20 samples are normalised before the linear layer. ``layer`` rescales every
    patch by itself, so that the encoder cannot see amplitude; ``batch`` rescales each of the 20
    places by its mean and deviation over all patches, and keeps it, unless the layer norm after
    the linear layer (``norm = "embedding"``) takes it away again. Both have 40 parameters, so the
    paper's count fits either."""

    initial: Literal["truncated", "xavier", "torch"] = "truncated"
    """Initial weights of the linear layers, of which the paper says nothing: truncated normal
    with deviation 0.02, which leaves the blocks almost idle at first; Xavier uniform; or torch's
    own."""

    chunk: Annotated[int, Field(ge=0)] = 0
    """Windows encoded at once; 0 chooses by device: all on an accelerator, 64 on a CPU."""


class DeapsSettings(SettingsSection):
    """DEAPS and its ablations of components (BYOL is the same without three terms)."""

    tau: Fraction = 0.995
    """Share of the teacher that a step keeps."""

    gradual: bool = True
    """Add the gradual loss; without it DEAPS is BYOL with the covariance loss. BYOL itself has
    neither, whatever is set here."""

    masked: bool = True
    """Restrict the gradual loss to the features that change most over the triplet."""

    features: Count = 32
    """Features that the mask keeps for each sample, of 256."""

    covariance_weight: Annotated[float, Field(ge=0)] = 0.1
    """Weight of the covariance loss; 0 leaves it out."""

    mask_source: Literal["prediction", "projection"] = "prediction"
    """What the mask compares: the student's predictions (the paper's algorithm) or projections."""

    teacher_buffers: bool = False
    """Average the batch norms' running statistics into the teacher, too."""


class ContrastSettings(SettingsSection):
    """PCLR, CLOCS and Mixing-Up."""

    temperature: Positive = 0.1
    """Of PCLR and CLOCS."""

    mixing_temperature: Positive = 0.5
    """Of Mixing-Up."""

    mixing_alpha: Positive = 0.2
    """Of the beta distribution that mixing shares come from (its authors' notebook has 1.0)."""

    mixing_partner: Literal["batch", "subject"] = "batch"
    """Where a window's partner comes from: the batch, as in its authors' code, or its subject."""

    exclude_same_subject: bool = True
    """Leave other windows of a row's subject out of PCLR's denominator: with few subjects they
    would be false negatives."""


class TfcSettings(SettingsSection):
    """TF-C."""

    temperature: Positive = 0.2
    """Of its losses."""
    jitter: Positive = 0.8
    """Standard deviation of the noise added in time."""
    bins_changed: Fraction = 0.1
    """Share of frequency bins that are zeroed, and share that are raised."""
    raise_by: Positive = 0.1
    """Most that a bin is raised, as a share of the spectrum's maximum."""
    within_weight: Positive = 0.2
    """Weight of the losses within time and within frequency relative to that between them."""
    attention: Literal["window", "batch"] = "window"
    """Whether attention stays within a window, or runs across the batch as the authors' code
    lets it, so that a representation depends on its neighbours."""


class SamplingSettings(SettingsSection):
    """Which windows a training step is given."""

    datasets: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Data sets to train on, or parts of them such as ``cpsc2021:set-I``; by default all in the
    index."""

    subjects: Literal["paired", "all"] = "paired"
    """The subjects that every method draws from: those that DEAPS can draw from under these
    settings, as in the paper, so that all methods see the same data; or all whose windows serve
    the method."""

    qualities: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = (
        "Excellent",
        "Barely acceptable",
    )
    """Quality classes that may be drawn."""

    triplet_span_s: Annotated[int, Field(ge=20, multiple_of=10)] = 120
    """Seconds from the start of a triplet's first window to that of its last."""

    pairing: Literal["visits", "recording"] = "visits"
    """Where the two sides of a pair come from: two visits, or distant parts of one recording."""

    mixed_chains: bool = False
    """Allow windows that were made with different settings of the signal chain to be used together.
    By default that is an error: it mostly happens when a data set that was not there when settings
    changed."""

    distance_s: Annotated[int, Field(ge=10)] = 600
    """Least distance of the two sides with ``pairing = "recording"``, in seconds."""


class TrainingSettings(SettingsSection):
    """The training loop."""

    batch: Count = 256
    """Samples of a step, over all processes."""

    iterations: Count = 30_000
    """Steps; TF-C has its own number."""

    tfc_iterations: Count = 75_000
    """Steps of TF-C."""

    learning_rate: Positive = 3e-4
    """Of Adam."""

    weight_decay: Annotated[float, Field(ge=0)] = 1.5e-6
    """L2 weight decay of Adam (not AdamW)."""

    warmup: Annotated[int, Field(ge=0)] = 0
    """Steps over which the learning rate rises from zero; the paper has none."""

    seed: int = 0
    """Of initial weights, sampling and augmentations."""

    checkpoint_every: Count = 500
    """Steps between checkpoints."""

    keep_checkpoints: Count = 2
    """Checkpoints kept."""

    evolution_every: Count = 1000
    """Steps between encoder-only files, which are never removed."""

    last_encoder_only: Annotated[tuple[MethodName, ...], Field(strict=False)] = ()
    """Methods of which only the last encoder is kept, so that the report cannot follow them over
    the steps: an encoder of TF-C takes 125 MB, one of the others 5. Not part of a run's name."""

    metrics_every: Count = 10
    """Steps between rows of metrics."""

    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Of autocast. ``auto`` is bfloat16 where the card or the processor has it, float16 on other
    CUDA cards and float32 on other processors; it is settled when a run is created, written to its
    configuration, and kept when the run goes on elsewhere."""


class ModelSettings(SettingsSection):
    """Encoder and methods."""

    encoder: EncoderSettings = EncoderSettings()
    deaps: DeapsSettings = DeapsSettings()
    contrast: ContrastSettings = ContrastSettings()
    tfc: TfcSettings = TfcSettings()

    own: dict[str, Any] = Field(default_factory=dict)
    """Settings of a method from another package, from its table ``[methods.NAME]``."""


class BenchmarkSettings(SettingsSection):
    """Which data set plays which part in the benchmarks, and how they are drawn."""

    afib_train: str = "mitdb"
    """Data set on which the AFib classifier is fitted that is tested on another."""

    afib_test: str = "afdb"
    """Data set on which that classifier is tested."""

    afib_loo: str = "afdb"
    """Data set of the AFib benchmark that leaves one subject out, and of the PCA."""

    afib_inner: str | None = None
    """Data set, or part of one, of the inner folds over AFib; its people may be trained on."""

    afib_recordings_only: Annotated[tuple[str, ...], Field(strict=False)] = ("mitdb",)
    """Data sets of which the AFib benchmarks use only recordings that have AFib."""

    windows_per_subject: Count | Literal["all"] = "all"
    """Most windows of each subject in the AFib benchmarks, drawn by seed: fitting takes time that
    grows with the square of their number."""

    afib_excluded: Annotated[tuple[str, ...], Field(strict=False)] = ("AFL",)
    """Rhythms that are neither AFib nor its opposite."""

    gender: str = "shhs"
    """Data set of the gender benchmark."""

    gender_subjects: Count | Literal["all"] = 1549
    """Subjects drawn for it, of those whose sex is known."""

    gender_windows: Count | Literal["all"] = 1
    """Windows drawn of each of them."""

    challenge: str = "challenge2017"
    """Data set with training and validation recordings of normal, AFib and other rhythm."""

    challenge_overlap: Annotated[tuple[Literal["remove", "keep"], ...], Field(strict=False)] = (
        "remove",
        "keep",
    )
    """What becomes of validation recordings that are among the training recordings, too: without
    them the test is fair; with them it leaks, but may be what others report. Both are run."""

    probes: Annotated[
        tuple[Literal["svc", "logistic", "neighbours"], ...], Field(strict=False, min_length=1)
    ] = ("svc", "logistic", "neighbours")
    """Classifiers on the frozen features; the tables show the first."""

    few_label_draws: Annotated[int, Field(ge=0)] = 10
    """Draws of annotated people behind each point of the few-label curves; 0 for no curves."""

    sleep: str | None = None
    """Data set, or part of one, of the benchmarks on sleep stages and apneas; None for none."""

    sleep_people: Literal["one visit", "all"] = "one visit"
    """Whose nights they use: of people with one visit, that a pre-training on pairs of visits never
    sees, or of all."""

    sleep_windows: Count | Literal["all"] = 20_000
    """Windows drawn for each of them, by seed: fitting takes time that grows with the square."""

    sleep_split: Annotated[Path | None, Field(strict=False)] = None
    """Published split to use instead of folds: a table with the columns id (subject or recording)
    and split (train, val, test)."""

    folds: Annotated[int, Field(ge=2)] = 5
    """Folds of the gender benchmark and of the inner folds."""

    few_recordings: Count = 8
    """Recordings of each class that the inner benchmark with few labels is fitted on."""

    few_draws: Count = 20
    """How often they are drawn."""

    bootstrap: Count = 1000
    """Draws of people and seeds behind a confidence interval."""

    seed: int = 0
    """Of draws, folds and bootstrap."""


@dataclass(frozen=True, slots=True)
class DataPart:
    """A data set and, unless all of it is meant, the value of its column ``split``."""

    dataset: str
    part: str | None = None

    @classmethod
    def parse(cls, text: str) -> DataPart:
        """Return what ``dataset`` or ``dataset:part`` names."""
        dataset, separator, part = text.partition(":")
        return cls(dataset, part if separator else None)

    def __str__(self) -> str:
        return self.dataset if self.part is None else f"{self.dataset}:{self.part}"

    def label(self, labels: Mapping[str, str]) -> str:
        """Return the name for people, given those of the data sets."""
        name = labels[self.dataset]
        return name if self.part is None else f"{name} ({self.part})"

    def condition(self) -> str:
        """Return the condition in SQL by which its rows are chosen from ``recordings``."""
        condition = f"dataset = {sql_literal(self.dataset)}"
        return (
            condition if self.part is None else f"{condition} AND split = {sql_literal(self.part)}"
        )


def condition_of(names: Iterable[str]) -> str:
    """Return the condition in SQL that chooses recordings of any of some data sets and parts."""
    return " OR ".join(DataPart.parse(name).condition() for name in names)


def require_parts(index: DuckDBPyConnection, names: Iterable[str], *, setting: str) -> None:
    """Check that the index has every data set and part that a setting names.

    Raises
    ------
    DeapsError
        If it has not.
    """
    rows = index.execute("SELECT DISTINCT dataset, split FROM recordings ORDER BY ALL").fetchall()
    datasets = list(dict.fromkeys(dataset for dataset, _ in rows))
    for wanted in map(DataPart.parse, names):
        if wanted.dataset not in datasets:
            listed = ", ".join(map(repr, datasets)) or "no recordings"
            raise DeapsError(f"{setting} has {wanted.dataset!r}; the index has {listed}")
        parts = [part for dataset, part in rows if dataset == wanted.dataset and part]
        if wanted.part is not None and wanted.part not in parts:
            listed = ", ".join(f"'{wanted.dataset}:{part}'" for part in parts) or "no parts"
            raise DeapsError(f"{setting} has {str(wanted)!r}; {wanted.dataset} has {listed}")
