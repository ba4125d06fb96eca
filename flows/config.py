"""The whole configuration: sections of every folder, presets, files and overrides.

Later sources win: defaults, preset, configuration file, ``--set section.key=value``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from deaps.config import (
    BenchmarkSettings,
    ContrastSettings,
    DeapsSettings,
    EncoderSettings,
    MethodName,
    OwnSettings,
    SamplingSettings,
    TfcSettings,
    TrainingSettings,
)
from deaps.method_registry import DEAPS, PAPER_METHODS, did_you_mean
from flows.presets import PRESET_FOLDER, preset_names
from preprocessing.config import CohortSettings, QualitySettings, SignalSettings, SynthSettings
from preprocessing.datasets import DATASETS
from storage.config import SettingsSection, StoreSettings
from storage.errors import DeapsError

CONFIG_NAME = "deaps.toml"
CONFIG_VARIABLE = "DEAPS_CONFIG"


def _refuse_empty(root: Any) -> Any:
    """Refuse an empty path, which would mean the working folder."""
    if root == "":
        raise ValueError("the folder is empty; give a path, or leave the data set out")
    return root


DataRoot = Annotated[
    Path | None,
    Field(strict=False),
    BeforeValidator(_refuse_empty),
    AfterValidator(lambda path: path and path.expanduser()),
]


AblationName = Literal["components", "span", "features"]


class DataSettings(SettingsSection):
    """Where each data set lies: a root by the name of a data set; without one it is not read.

    Every registered data set has a key, those from outside too; its ``about`` describes it.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, DataRoot] = Field(init=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, values: Any) -> Any:
        """Refuse a name that no data set has, as any section refuses an unknown key."""
        names = values if isinstance(values, Mapping) else ()
        unknown = [name for name in names if name not in DATASETS]
        if unknown:
            raise ValidationError.from_exception_data(
                "DataSettings",
                [
                    InitErrorDetails(type="extra_forbidden", loc=(name,), input=values[name])
                    for name in unknown
                ],
            )
        return values

    def roots(self) -> dict[str, Path]:
        """Return the roots that are set, by data-set name."""
        return {name: root for name, root in self.__pydantic_extra__.items() if root}


def describe_data_roots() -> str:
    """Return a line for each data set: the setting of its root and what it holds."""
    return "\n".join(f"  data.{name}: {dataset.about}" for name, dataset in DATASETS.items())


class TrialSettings(SettingsSection):
    """A choice to try."""

    method: MethodName = DEAPS.name
    """Method that is trained."""

    overrides: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """What it trains with other than the common settings, such as ``training.warmup=50``; what
    is tuned for the method does not count."""


class ExperimentSettings(SettingsSection):
    """What the pipeline trains and compares."""

    methods: Annotated[tuple[MethodName, ...], Field(strict=False)] = PAPER_METHODS
    """Methods, in the order of the report."""

    ablations: Annotated[tuple[AblationName, ...], Field(strict=False)] = (
        "components",
        "span",
        "features",
    )
    """The paper's ablations of DEAPS."""

    spans_s: Annotated[tuple[int, ...], Field(strict=False)] = (90, 120, 150)
    """Spans of a triplet that are compared, in seconds."""

    features: Annotated[tuple[int, ...], Field(strict=False)] = (16, 32, 48)
    """Features kept by the mask that are compared."""

    tuned: dict[MethodName, Annotated[tuple[str, ...], Field(strict=False)]] = Field(
        default_factory=dict
    )
    """Overrides that one method alone trains with, such as ``training.warmup=50``: what trials
    chose. Ablations of DEAPS have those of DEAPS, and so has the BYOL of the component ablation."""

    trials: dict[str, TrialSettings] = Field(default_factory=dict)
    """Choices to try on the inner folds alone, by name."""

    seeds: Annotated[tuple[int, ...] | None, Field(strict=False)] = None
    """Seeds of the methods and of the component ablation, a training each; by default that of
    ``training`` alone. The other ablations have the first one."""

    reference: MethodName = DEAPS.name
    """Method that the others, and the baselines, are compared with."""

    evolution: bool = True
    """Run the benchmarks at every encoder file of each method, too."""

    classical: bool = True
    """Compare with classical features, which take some four times as long as an encoder."""

    shipped: bool = False
    """Compare with the encoder that comes with the package. A benchmark that tests somebody that
    it was trained on is refused."""

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, seeds: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if seeds is not None and (not seeds or len(set(seeds)) < len(seeds)):
            raise ValueError(f"expected one seed or more, each once; there are {list(seeds)}")
        return seeds


class RefreshSettings(SettingsSection):
    """The scheduled look at the data sets."""

    cron: str = "0 3 * * *"
    """When ``deaps serve`` looks, as cron writes it, in UTC; ``prefect.yaml`` has its own."""

    then: Literal["nothing", "train", "evaluate"] = "nothing"
    """What follows when something changed: trainings, or trainings and the report."""


class SlurmSettings(SettingsSection):
    """The jobs that a SLURM cluster is asked for; None leaves a thing to the cluster's default."""

    partition: str | None = None
    """Partition of the workers that preprocess, embed and classify."""

    account: str | None = None
    """Account that jobs are charged to."""

    jobs: Annotated[int, Field(ge=1)] = 8
    """Worker jobs of one core each."""

    memory: str = "4GB"
    """Memory of a worker."""

    walltime: str = "04:00:00"
    """Time limit of a worker; one that ends is replaced, and its work is done again."""

    worker_options: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Further options of sbatch for workers."""

    interface: str | None = None
    """Network interface by which workers reach this machine, such as ``ib0``."""

    training_partition: str | None = None
    """Partition of trainings."""

    training_memory: str = "16G"
    """Memory of a training."""

    training_walltime: str = "24:00:00"
    """Time limit of a training; one that ends early goes on from its checkpoint."""

    training_options: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Further options of sbatch for trainings, such as ``--gres=gpu:1``."""


class ExecutionSettings(SettingsSection):
    """How the work is carried out; nothing here changes a result."""

    workers: Annotated[int | None, Field(ge=1)] = None
    """Worker processes on this machine; by default one for each core."""

    dask_address: str | None = None
    """Address of a Dask scheduler, to use workers on many machines instead."""

    cluster: Literal["local", "slurm"] = "local"
    """Who starts workers and trainings: this machine, or jobs of a SLURM cluster."""

    slurm: SlurmSettings = SlurmSettings()
    """The jobs of a SLURM cluster."""

    batch_recordings: Annotated[int, Field(ge=1)] = 64
    """Most recordings of one Prefect task."""

    chunk_megabytes: Annotated[float, Field(gt=0)] = 32.0
    """Source bytes handed to a worker at once: many small recordings, or one night."""

    recording_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1500.0
    """Memory that reading one recording or one table may take. A recording that needs more is
    quarantined, a table is not read. A day at 500 Hz takes 691 MB, of any number of leads. A
    million rows of five columns take 700 MB, and eight times the size of their file."""

    @property
    def recording_bytes(self) -> int:
        """The same in bytes."""
        return int(self.recording_megabytes * 1e6)

    reports_url: str | None = None
    """Where the store's folder ``reports`` is served, for the links in Prefect's pages. While
    ``deaps serve`` runs, it serves them itself; else, without this, they are file links, which
    browsers refuse to follow."""

    device: str = "auto"
    """Where to train: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""

    training: Literal["auto", "here", "pool"] = "auto"
    """Where the pipeline's trainings and embeddings run: in the pool of the deployment
    ``deaps-train/run`` (``gpu``), in the pipeline's own process, or in the pool if a live worker
    serves it."""

    pool_patience_s: Annotated[float, Field(gt=0)] = 3600.0
    """How long the pipeline waits while no live worker serves the pool that it needs."""

    trainings_at_once: Annotated[int, Field(ge=1)] = 1
    """Runs that train side by side on this machine, each in a process of one thread: on a CPU, two
    such processes do far more than two threads of one."""

    processes_per_node: Annotated[int, Field(ge=1)] = 1
    """Training processes on each machine, one for each GPU."""

    nodes: Annotated[int, Field(ge=1)] = 1
    """Machines that train together."""

    rendezvous: str = "127.0.0.1:29400"
    """Address on the first machine at which several machines meet."""


class Settings(SettingsSection):
    """All settings of a run."""

    data: DataSettings = DataSettings()
    store: StoreSettings = StoreSettings()
    signal: SignalSettings = SignalSettings()
    quality: QualitySettings = QualitySettings()
    cohort: CohortSettings = CohortSettings()
    synth: SynthSettings = SynthSettings()
    encoder: EncoderSettings = EncoderSettings()
    deaps: DeapsSettings = DeapsSettings()
    contrast: ContrastSettings = ContrastSettings()
    tfc: TfcSettings = TfcSettings()
    methods: OwnSettings = OwnSettings()
    sampling: SamplingSettings = SamplingSettings()
    training: TrainingSettings = TrainingSettings()
    experiment: ExperimentSettings = ExperimentSettings()
    benchmarks: BenchmarkSettings = BenchmarkSettings()
    refresh: RefreshSettings = RefreshSettings()
    execution: ExecutionSettings = ExecutionSettings()


def load_settings(
    *, preset: str | None = None, config: Path | None = None, overrides: Iterable[str] = ()
) -> Settings:
    """Return the settings that a preset, a configuration file and overrides make together.

    Without ``config`` the file named by ``DEAPS_CONFIG``, or ``deaps.toml`` in the working
    folder, is read where it exists and no preset is asked for. A file may name its own base with
    ``preset = "..."``. Relative paths in a file, and the store that it does not name, are in the
    file's folder; those of ``overrides`` are in the working folder.

    Raises
    ------
    DeapsError
        If a preset, file, section, key or value is not known or not of its type.
    """
    merged: dict[str, Any] = {}
    for _, values in _layers(preset, config, overrides):
        merged = _layer(merged, values)
    return _validated(merged)


def name_sources(
    *, preset: str | None = None, config: Path | None = None, overrides: Iterable[str] = ()
) -> str:
    """Return where settings come from, in words, e.g. ``preset demo, 2 times --set``."""
    names = [name for name, _ in _layers(preset, config, ())]
    n_typed = len(list(overrides))
    typed = [] if not n_typed else ["--set" if n_typed == 1 else f"{n_typed} times --set"]
    return ", ".join([*names, *typed]) or "defaults"


def setting_origins(
    *, preset: str | None = None, config: Path | None = None, overrides: Iterable[str] = ()
) -> Callable[[str], str]:
    """Return a function from ``section.key`` to where its value comes from."""
    layers = _layers(preset, config, overrides)
    return lambda key: next(
        (name for name, values in reversed(layers) if _sets(values, key)), "default"
    )


def _layers(
    preset: str | None, config: Path | None, overrides: Iterable[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the values of each source with its name, the ones that win last."""
    file = config or (default_config() if preset is None else None)
    values = _read_toml(file) if file else {}
    base = preset or values.pop("preset", None)
    layers = [(f"preset {base}", _read_preset(base))] if base else []
    if file:
        folder = file.parent.expanduser()
        if folder.resolve() != Path.cwd():
            values = _anchored(Settings, values, folder)
            if not any("root" in layer.get("store", {}) for _, layer in [*layers, ("", values)]):
                root = StoreSettings.model_fields["root"].default
                values["store"] = {**values.get("store", {}), "root": str(folder / root)}
        layers.append((str(file), values))
    return layers + [("--set", parse_override(override)) for override in overrides]


def _anchored(section: type[BaseModel], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the values of a section with its relative paths below a folder."""
    anchored = dict(values)
    for key, value in values.items():
        field = section.model_fields.get(key)
        inner = field.annotation if field else None
        if isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, BaseModel):
            anchored[key] = _anchored(inner, value, folder)
        elif isinstance(value, str) and value:
            # Data sets are no fields: every value there is a folder.
            is_path = section is DataSettings or inner is Path or Path in get_args(inner)
            anchored[key] = str(folder / Path(value).expanduser()) if is_path else value
    return anchored


def overridden(settings: Settings, overrides: Iterable[str]) -> Settings:
    """Return the settings with ``section.key=value`` overrides applied."""
    merged = settings.model_dump(exclude_unset=True)
    for override in overrides:
        merged = _merge(merged, parse_override(override))
    return _validated(merged)


def _validated(values: Mapping[str, Any]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise DeapsError(_explain(error)) from None


def _layer(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``top`` over ``base``; what it sets also wins over what ``base`` tuned by method.

    Else a preset's ``experiment.tuned`` would override what a person typed.
    """
    merged = _merge(base, top)
    tuned = base.get("experiment", {}).get("tuned", {})
    newly_tuned = top.get("experiment", {}).get("tuned", {})
    kept = {
        method: [text for text in overrides if not _sets(top, text.partition("=")[0])]
        for method, overrides in tuned.items()
        if method not in newly_tuned
    }
    return _merge(merged, {"experiment": {"tuned": kept}}) if kept else merged


def _sets(values: Mapping[str, Any], key: str) -> bool:
    """Return whether nested tables have a value at ``section.key``."""
    below: Any = values
    for part in key.strip().split("."):
        if not isinstance(below, Mapping) or part not in below:
            return False
        below = below[part]
    return True


def parse_override(text: str) -> dict[str, Any]:
    """Return ``section.key=value`` as nested tables; a value that is not TOML is a string."""
    key, separator, value = text.partition("=")
    parts = key.strip().split(".")
    if not separator or not all(parts):
        raise DeapsError(f"--set {text!r} is not section.key=value, e.g. store.root=/data/store")
    if not value.strip():
        raise DeapsError(f"--set {text!r} has no value; leave the setting out to have its default")
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    for part in reversed(parts):
        parsed = {part: parsed}
    return dict(parsed)


def default_config() -> Path | None:
    """Return the configuration file that is read where none is named, None without one."""
    if named := os.environ.get(CONFIG_VARIABLE):
        return Path(named)
    path = Path(CONFIG_NAME)
    return path if path.is_file() else None


def _read_preset(name: str) -> dict[str, Any]:
    path = PRESET_FOLDER / f"{name}.toml"
    if name not in preset_names():
        raise DeapsError(f"no preset {name!r}{did_you_mean(name, preset_names())}")
    return _read_toml(path)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeapsError(f"cannot read configuration {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeapsError(f"{path} is not TOML: {error}") from None


def _merge(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


def _explain(error: ValidationError) -> str:
    return "\n".join(_explain_one(problem) for problem in error.errors())


def _explain_one(problem: Mapping[str, Any]) -> str:
    path = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "tuple_type":
        given = problem["input"]
        return f'{path}: expected a list, such as {path}=["{given}"] (got {given!r})'
    if problem["type"] != "extra_forbidden":
        return f"{path}: {problem['msg']} (got {problem['input']!r})"
    *parents, key = (str(part) for part in problem["loc"])
    return f"unknown setting {path!r}{did_you_mean(key, _keys(parents))}"


def _keys(parents: Iterable[str]) -> list[str]:
    model: type[BaseModel] = Settings
    for parent in parents:
        annotation = model.model_fields[parent].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(DATASETS) if model is DataSettings else list(model.model_fields)
