"""The record of one evaluation: all that the report shows, as one document.

`deaps evaluate` writes it as ``reports/<id>/evaluation.json``; `deaps report` reads nothing else.
Numbers are stored as measured, shares as fractions of one. What was not run carries the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from storage.files import replacing

EVALUATION_NAME = "evaluation.json"
PAGE_NAME = "index.html"
ALPHA = 0.05
"""Level below which a Holm-corrected p is significant."""

RepresentationRole = Literal["method", "baseline", "joined", "ablation", "trial"]
"""Joined is a method's features with a baseline's next to them; a trial was compared on the inner
folds alone."""

ComparisonFamily = Literal["methods", "baselines", "components", "sizes", "joined"]
"""Comparators that are tested together: other methods, baselines, ablations; and what a method's
features add to a baseline's."""


class DatasetLabels(dict[str, str]):
    """Name for people of each data set, by its key; a data set without one has its key."""

    def __missing__(self, name: str) -> str:
        return name


class Record(BaseModel):
    """A part of the document.

    An unknown key is an error, so that old files are noticed. So is a number that is not finite:
    JSON has none, and null in its place would be noticed by the next reader alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TrainedRun(Record):
    """One training of a representation."""

    name: str
    seed: int
    encoder_sha256: str | None = None
    """Digest of the encoder file that was evaluated."""


class Representation(Record):
    """What turns windows into features: a trained encoder, or a baseline that it must beat."""

    name: str
    """Key by which the rest of the document refers to it, such as ``deaps`` or ``random``."""
    label: str
    """Name for people."""
    role: RepresentationRole
    features: int
    parameters: int | None = None
    """Of the encoder; None for classical features."""
    runs: tuple[TrainedRun, ...] = ()
    """Its trainings, one for each seed; none for baselines."""
    missing_seeds: tuple[int, ...] = ()
    """Seeds whose training is not there; the figures are of the others."""
    iterations: int | None = None
    batch: int | None = None
    deviations: tuple[str, ...] = ()
    """How it differs from its reference implementation or from the paper, a sentence each."""


class Score(Record):
    """A figure, the mean over seeds, with its confidence interval."""

    metric: str
    """``accuracy``, ``balanced accuracy``, ``auroc``, ``f1``, ``sensitivity``, ``specificity``,
    ``recall CLASS`` or ``precision CLASS``."""
    value: float
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    """Population standard deviation over folds, where the value is their mean."""
    n: int
    """Examples behind it, of one seed."""
    by_seed: tuple[float, ...] = ()
    """In the order of the representation's runs; a baseline without seeds has one."""
    scope: str | None = None
    """What the interval covers: people, or people and seeds; None without an interval."""


class FoldScore(Record):
    """One fold: who was tested, on how many examples, and the share that was right.

    With several seeds, the mean over them.
    """

    name: str
    n: int
    accuracy: float


class Outcome(Record):
    """One representation in one benchmark."""

    representation: str
    scores: tuple[Score, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Rows are the true classes, columns the predicted ones, over all folds and seeds."""
    folds: tuple[FoldScore, ...]

    def score(self, metric: str) -> Score | None:
        """Return the figure of that name, None if it was not measured."""
        return next((score for score in self.scores if score.metric == metric), None)


class ProbeOutcome(Record):
    """One representation with another classifier than the table's."""

    probe: str
    """Name for people."""
    representation: str
    scores: tuple[Score, ...]


class Difference(Record):
    """The reference less a comparator, on the same people."""

    comparator: str
    value: float
    low: float
    high: float
    """Of its interval at 95 %, this comparator looked at alone."""
    family_low: float
    family_high: float
    """Of the interval that allows for the number of comparators."""
    p: float
    """Of the sign-flip test over people."""
    p_holm: float
    """The same after Holm over the comparators."""
    exact: bool
    """Whether the test tried every pattern of signs."""
    scope: str
    """What the intervals cover."""
    significant: bool
    """Whether the test after Holm and the family's interval agree that there is a difference."""


class MetricComparison(Record):
    """A family of comparators against a reference by one metric."""

    family: ComparisonFamily
    metric: str
    reference: str
    n_subjects: int
    smallest_p: float
    """The smallest p after Holm that so many subjects can give against so many comparators."""
    differences: tuple[Difference, ...]

    def difference(self, comparator: str) -> Difference | None:
        """Return the difference to a comparator, None if there is none."""
        return next((d for d in self.differences if d.comparator == comparator), None)


class CurvePoint(Record):
    """A figure at one number of annotated people: the mean over draws of them and over seeds."""

    people: int
    value: float
    low: float | None = None
    high: float | None = None
    """Of its interval at 95 % over tested people, draws of annotated ones, and seeds; None where
    one person is tested."""
    draws: int
    scope: str | None = None
    """What the interval covers besides the draws; None without an interval."""


class FewLabelCurve(Record):
    """How a representation's figure grows with the number of annotated people."""

    representation: str
    benchmark: str
    metric: str
    points: tuple[CurvePoint, ...]


class FewLabelComparison(Record):
    """A family of comparators against a reference at one number of annotated people."""

    benchmark: str
    people: int
    comparison: MetricComparison


class Ranks(Record):
    """Mean ranks of the methods over the reported benchmarks, 1 the best."""

    metric: str
    mean: dict[str, float]
    """By method, the best first."""
    by_benchmark: dict[str, dict[str, float]]
    critical_difference: float | None
    """Mean ranks closer than this do not differ significantly; None if there is no such test."""
    left_out: tuple[str, ...] = ()
    """Benchmarks on which some method has no figure."""


class BenchmarkFacts(Record):
    """What a benchmark's figures rest on; the same for every representation."""

    examples: dict[str, int]
    """Examples of each class, both sides of the split together."""
    windows: dict[str, int]
    """Windows behind them, for each class."""
    tested: dict[str, int]
    """Examples of each class that are tested in some fold."""
    subjects: int
    folds: int
    majority: float
    """Accuracy of always answering the class that is most frequent in training."""
    quality_rule: str
    label_version: str | None = None
    seed: int
    removed: tuple[str, ...] = ()
    """What was left out so that no recording stands on both sides, a sentence each."""


class BenchmarkRecord(Record):
    """One experiment with a classifier on frozen features, for every representation."""

    name: str
    title: str
    protocol: str
    """What is fitted on what and tested on what, in a sentence or two."""
    classes: tuple[str, ...]
    reported: bool = True
    """False for the inner folds that settings are chosen by."""
    leak: str | None = None
    """What its figures know that they should not, in a sentence; such a benchmark ranks nobody."""
    seen: str | None = None
    """Which tested people were in pre-training, where the benchmark declares that they may be, and
    of which encoders nobody knows."""
    not_run: str | None = None
    facts: BenchmarkFacts | None = None
    outcomes: tuple[Outcome, ...] = ()
    probes: tuple[ProbeOutcome, ...] = ()
    """The same with other classifiers."""
    comparisons: tuple[MetricComparison, ...] = ()

    def outcome(self, representation: str) -> Outcome | None:
        """Return the outcome of a representation, None if there is none."""
        return next((o for o in self.outcomes if o.representation == representation), None)

    def comparison(self, family: ComparisonFamily, metric: str) -> MetricComparison | None:
        """Return the comparison of a family by a metric, None if there is none."""
        found = (c for c in self.comparisons if (c.family, c.metric) == (family, metric))
        return next(found, None)


class Component(Record):
    """A principal component: how far episodes differ along it."""

    explained: float
    """Share of the variance."""
    ks: float
    """Kolmogorov-Smirnov distance of AFib and normal windows."""
    auc: float
    """Area under the ROC curve of AFib against normal, 0.5 to 1."""
    grid: tuple[float, ...]
    afib: tuple[float, ...]
    """Density of AFib windows on the grid."""
    normal: tuple[float, ...]


class Pca(Record):
    """Principal components of one representation, by subject and by episode."""

    representation: str
    dataset: str
    silhouette: float
    """Of the first two components, by subject: near 1 if subjects lie apart, 0 if mixed."""
    components: tuple[Component, ...]
    x: tuple[float, ...]
    """First component of a sample of windows."""
    y: tuple[float, ...]
    subject: tuple[int, ...]
    """Number of each window's subject, from 0."""
    afib: tuple[bool, ...]


class Evolution(Record):
    """A benchmark at the encoder-only files of a run, with a fitted polynomial."""

    representation: str
    benchmark: str
    metric: str = "accuracy"
    steps: tuple[int, ...]
    values: tuple[float, ...]
    degree: int
    fitted_steps: tuple[float, ...]
    fitted: tuple[float, ...]
    doubling_gain: float | None = None
    """What each doubling of the steps gained, by a straight line over their logarithm; None with
    fewer than two steps above 0."""
    doubling_error: float | None = None
    """Standard error of that gain; None with fewer than three."""


class AblationRow(Record):
    """One setting of an ablation and the representation that was trained with it."""

    label: str
    representation: str | None
    """None if it was not trained."""
    paper: dict[str, float] = {}
    """The paper's accuracy, by benchmark."""


class Ablation(Record):
    """The paper's ablation of components, span or features."""

    name: str
    title: str
    rows: tuple[AblationRow, ...]


class TrainingCurve(Record):
    """What a run logged, thinned for drawing."""

    representation: str
    steps: tuple[int, ...]
    loss: tuple[float, ...]
    representation_std: tuple[float, ...]
    effective_rank: tuple[float, ...]
    windows_per_s: tuple[float, ...]
    seconds: float
    """Time of all steps together."""


class GradualUse(Record):
    """The gradual loss of one run over its last steps, next to that of spoiled triplets."""

    representation: str
    seed: int
    own: float
    """With the true middle: the loss itself."""
    swapped: float
    """With i and j exchanged."""
    first: float
    """With the first window in place of the middle."""
    other_subject: float
    """With another person's middle."""


class QualityCount(Record):
    """Windows of one data set, visit and quality class."""

    dataset: str
    visit: int
    quality: str
    n_windows: int


class Strip(Record):
    """One window, for drawing."""

    caption: str
    fs: float
    signal: tuple[float, ...]
    """In the units of training: standard deviations of the recording."""


class QualityExample(Record):
    """A window of a quality class."""

    quality: str
    strip: Strip


class NightStage(Record):
    """A stretch of one sleep stage, in seconds from the recording's start."""

    start_s: float
    duration_s: float
    stage: str


class NightEvent(Record):
    """A scored event, in seconds from the recording's start."""

    start_s: float
    duration_s: float
    kind: str


class NightPage(Record):
    """One recording from start to end; what is of windows has one value for each, in order."""

    title: str
    window_s: float
    quality: tuple[str, ...]
    heart_rate: tuple[float | None, ...]
    """Beats/min; None where a window has fewer than two beats."""
    stages: tuple[NightStage, ...] = ()
    events: tuple[NightEvent, ...] = ()
    representation: str = ""
    components: tuple[tuple[float | None, ...], ...] = ()
    """First principal components of the representation, each in its standard deviations."""


class QualityGrades(Record):
    """The share of Unacceptable windows next to a technician's grade of the same recording."""

    dataset: str
    grade: tuple[float, ...]
    share: tuple[float, ...]
    """Of Unacceptable windows, for each recording with a grade."""
    correlation: float | None
    """Spearman's rank correlation; None where one of the two does not vary."""
    low: float | None = None
    high: float | None = None
    """95 % interval over draws of people."""
    subjects: int = 0


class EmbeddingMap(Record):
    """Windows laid out in two dimensions so that neighbours stay neighbours."""

    representation: str
    method: str
    """How it was laid out, in words."""
    x: tuple[float, ...]
    y: tuple[float, ...]
    label: tuple[str, ...]
    """Class of each window."""
    subject: tuple[int, ...]
    fs: float
    samples: int
    strips: str
    """All strips as signed bytes, base64: points times samples, in the order of the points."""
    scale: float
    """Value of one unit of a byte."""


class Trial(Record):
    """A choice that was tried, with its figures on the inner folds."""

    name: str
    changed: str
    scores: dict[str, float]
    chosen: bool = False


class Stage(Record):
    """How long a stage of the pipeline took."""

    name: str
    seconds: float


class Provenance(Record):
    """What the figures come from."""

    snapshot_id: str
    created_at: str
    command: str
    versions: dict[str, str]
    hardware: dict[str, str]
    settings: str
    """The resolved configuration, TOML."""
    digests: dict[str, str]
    """SHA-256 of each encoder file, and of the SHA-256s of each data set's source files."""
    seeds: dict[str, int]
    stages: tuple[Stage, ...]
    settings_digest: str | None = None
    code: str | None = None
    """Our version, and a digest of our source files."""
    sources: int | None = None
    """Source files of the snapshot."""
    sources_sha256: str | None = None
    """Digest of the digests of all source files."""


class RecordingChange(Record):
    """What became of one data set's recordings between two snapshots."""

    dataset: str
    added: int
    removed: int
    redone: int
    """Of the same name with other windows: the source or the settings changed."""


class FigureChange(Record):
    """A figure in two reports."""

    benchmark: str
    representation: str
    metric: str
    before: float
    after: float


class SnapshotChange(Record):
    """What changed since the last report of the same experiment on another snapshot."""

    report: str
    """The report that it is compared with."""
    before: str
    after: str
    """Ids of the snapshots."""
    recordings: tuple[RecordingChange, ...]
    """Of data sets in which something changed."""
    figures: tuple[FigureChange, ...]
    """That moved, the farthest first."""


class Evaluation(Record):
    """The whole document."""

    id: str
    title: str
    datasets: dict[str, str] = {}
    """Name for people of each data set, by the key that the rest of the document uses."""
    synthetic: tuple[str, ...] = ()
    """Data sets that `deaps synth` made: no person was recorded."""
    representations: tuple[Representation, ...]
    benchmarks: tuple[BenchmarkRecord, ...]
    few_labels: tuple[FewLabelCurve, ...] = ()
    few_label_comparisons: tuple[FewLabelComparison, ...] = ()
    ranks: Ranks | None = None
    pca: tuple[Pca, ...] = ()
    evolution: tuple[Evolution, ...] = ()
    ablations: tuple[Ablation, ...] = ()
    training: tuple[TrainingCurve, ...] = ()
    gradual: tuple[GradualUse, ...] = ()
    quality: tuple[QualityCount, ...] = ()
    strips: tuple[Strip, ...] = ()
    """One subject normal and in AFib, then a second subject."""
    quality_examples: tuple[QualityExample, ...] = ()
    map: EmbeddingMap | None = None
    nights: tuple[NightPage, ...] = ()
    """Example nights with their sleep stages."""
    quality_grades: tuple[QualityGrades, ...] = ()
    trials: tuple[Trial, ...] = ()
    absent: tuple[str, ...] = ()
    """What could not be shown, and why: "pca: no data at ..."."""
    change: SnapshotChange | None = None
    provenance: Provenance

    def representation(self, name: str) -> Representation:
        """Return the representation of that name."""
        return next(r for r in self.representations if r.name == name)


def write_evaluation(evaluation: Evaluation, folder: Path) -> Path:
    """Write the document into ``folder`` and return its path."""
    path = folder / EVALUATION_NAME
    with replacing(path) as temporary:
        temporary.write_text(evaluation.model_dump_json(indent=1), encoding="utf-8")
    return path


def read_evaluation(folder: Path) -> Evaluation:
    """Return the document in ``folder``."""
    return Evaluation.model_validate_json((folder / EVALUATION_NAME).read_bytes())
