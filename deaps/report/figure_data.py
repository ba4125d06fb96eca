"""The data of the report's figures, from features, runs and the index, for the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from deaps.benchmarks.afib import CLASSES
from deaps.embed import embed_windows
from deaps.evaluation import document
from deaps.evaluation.examples import Windows
from deaps.evaluation.features import read_features
from deaps.evaluation.plan import Plan
from deaps.evaluation.representations import FeatureFile
from deaps.models.encoder_file import load_encoder
from deaps.report.arrays import NotShownError
from deaps.report.evolution import evolution_data
from deaps.report.nights import example_nights, night_page, scored_dataset
from deaps.report.pca import pca_data
from deaps.report.quality import quality_counts, quality_examples, quality_grades
from deaps.report.strips import CAPTIONS, choose_strips, strip
from deaps.report.training import training_curve
from deaps.report.window_map import embedding_map
from deaps.training.metrics import read_metrics
from deaps.training.run_folder import Run, encoder_step
from storage.window_store import WindowStore

P = ParamSpec("P")
T = TypeVar("T")

FiguresByStep = Mapping[tuple[str, str, str], Mapping[int | None, float]]
"""By representation, benchmark and metric, then by step; None is the last."""

_AFIB_BENCHMARKS = ("afib-loo", "afib-transfer")
_SINUS = "N"
_MAPPED = ("challenge2017", *_AFIB_BENCHMARKS)


@dataclass(frozen=True, slots=True)
class FigureData:
    """The fields of `evaluation.Evaluation` that hold data of figures, and why some are absent."""

    pca: tuple[document.Pca, ...]
    evolution: tuple[document.Evolution, ...]
    training: tuple[document.TrainingCurve, ...]
    quality: tuple[document.QualityCount, ...]
    strips: tuple[document.Strip, ...]
    quality_examples: tuple[document.QualityExample, ...]
    map: document.EmbeddingMap | None
    nights: tuple[document.NightPage, ...]
    quality_grades: tuple[document.QualityGrades, ...]
    absent: tuple[str, ...]


class FigureDataMaker:
    """Makes the data of one evaluation's figures, and notes what is absent with its reason."""

    def __init__(
        self,
        index: duckdb.DuckDBPyConnection,
        store: WindowStore,
        plans: Mapping[str, Plan],
        files: Sequence[FeatureFile],
        *,
        methods: Sequence[str],
        labels: document.DatasetLabels,
        seed: int,
    ) -> None:
        self.index, self.store, self.plans, self.files = index, store, plans, files
        self.methods, self.labels, self.seed = methods, labels, seed
        self.absent: list[str] = []

    def make(self, runs: Mapping[str, Run], by_step: FiguresByStep) -> FigureData:
        """Return the data of all figures; ``runs`` are the representations' first ones."""
        return FigureData(
            pca=self.pca(),
            evolution=self.evolution(by_step),
            training=self.curves(runs),
            quality=quality_counts(self.index),
            strips=self.strips(),
            quality_examples=quality_examples(
                self.index, self.store, labels=self.labels, seed=self.seed
            ),
            map=self.map(),
            nights=self.nights(),
            quality_grades=quality_grades(self.index, seed=self.seed),
            absent=tuple(self.absent),
        )

    def pca(self) -> tuple[document.Pca, ...]:
        """Return the principal components of every method and of the random encoder."""
        plan = self._afib_plan("pca")
        if plan is None:
            return ()
        examples = plan.examples
        is_afib = examples.labels == CLASSES.index("AFib")
        shown = [file for file in self._with_features("pca") if file.source.is_network]
        dataset = plan.benchmark.datasets(plan.settings)[-1]
        made = (
            self._tried(
                f"pca of {file.representation}",
                pca_data,
                file.representation,
                dataset,
                read_features(file.path).of(examples.windows),
                examples.subjects,
                is_afib,
                seed=self.seed,
            )
            for file in shown
        )
        return tuple(pca for pca in made if pca is not None)

    def evolution(self, figures: FiguresByStep) -> tuple[document.Evolution, ...]:
        """Return how the figures changed over each method's training."""
        if not figures:
            self.absent.append("evolution: no earlier encoder files of a method were evaluated")
        else:
            self._note_methods_without_steps({name for name, _, _ in figures})
        made = (
            self._tried(f"evolution of {name}", evolution_data, name, benchmark, metric, *course)
            for (name, benchmark, metric), by_step in figures.items()
            for course in [self._course(name, by_step)]
        )
        return tuple(evolution for evolution in made if evolution is not None)

    def _course(
        self, name: str, by_step: Mapping[int | None, float]
    ) -> tuple[list[int], list[float]]:
        """Return steps and figures in order; the last step has no number of its own."""
        points = sorted(
            (self._last_step(name) if step is None else step, value)
            for step, value in by_step.items()
        )
        return [step for step, _ in points], [value for _, value in points]

    def _note_methods_without_steps(self, with_steps: set[str]) -> None:
        evaluated = {file.representation for file in self._last()}
        for name in self.methods:
            if name in evaluated - with_steps:
                why = "only its last encoder was kept (training.last_encoder_only)"
                self.absent.append(f"evolution of {name}: {why}")

    def curves(self, runs: Mapping[str, Run]) -> tuple[document.TrainingCurve, ...]:
        """Return what every run logged."""
        made = (
            self._tried(f"training of {name}", training_curve, name, read_metrics(run.folder))
            for name, run in runs.items()
        )
        return tuple(curve for curve in made if curve is not None)

    def strips(self) -> tuple[document.Strip, ...]:
        """Return one subject normal and in AFib, and a second subject."""
        plan = self._afib_plan("strips")
        if plan is None:
            return ()
        examples = plan.examples
        is_afib = examples.labels == CLASSES.index("AFib")
        quality, rhythm = self._quality_and_rhythm(examples.windows)
        shown = np.flatnonzero(is_afib | (rhythm == _SINUS))
        windows = examples.windows.at(shown)
        chosen = self._tried(
            "strips",
            choose_strips,
            windows.recording_id,
            windows.row,
            examples.subjects[shown],
            is_afib[shown],
            quality[shown],
        )
        if chosen is None:
            return ()
        read = self._read(windows.at(np.array(chosen)))
        return tuple(strip(caption, window) for caption, window in zip(CAPTIONS, read, strict=True))

    def map(self) -> document.EmbeddingMap | None:
        """Return a map of DEAPS's representations, or of the first method there is."""
        plan = next((self.plans[name] for name in _MAPPED if name in self.plans), None)
        mapped = next(
            (file for file in self._with_features("map") if file.source.kind == "encoder"), None
        )
        if plan is None or mapped is None:
            self.absent.append("map: no labelled data set, or no finished run")
            return None
        examples = plan.examples
        _, first = np.unique(examples.owner, return_index=True)
        windows = examples.windows.at(first)
        return self._tried(
            "map",
            embedding_map,
            mapped.representation,
            read_features(mapped.path).of(windows),
            self._read(windows),
            [plan.benchmark.classes[label] for label in examples.labels],
            examples.subjects,
            seed=self.seed,
        )

    def nights(self) -> tuple[document.NightPage, ...]:
        """Return two scored nights with the first method's representation, if there is one."""
        dataset = scored_dataset(self.index)
        encoders = (file for file in self._last() if file.source.kind == "encoder")
        encoder = next((file for file in encoders if not file.source.is_absent), None)
        pages = []
        for recording_id, ahi in example_nights(self.index, dataset) if dataset else ():
            embeddings = None
            if encoder is not None and encoder.source.encoder is not None:
                windows = self.store.read_recording(recording_id)
                embeddings = embed_windows(load_encoder(encoder.source.encoder), windows)
            pages.append(
                night_page(
                    self.index,
                    recording_id,
                    # Never the recording's name: a report may leave the house.
                    title=f"{self.labels[dataset or '']}, {ahi:.0f} apneas and hypopneas an hour",
                    representation=encoder.representation if encoder else "",
                    embeddings=embeddings,
                )
            )
        return tuple(pages)

    def _tried(
        self, what: str, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Return what ``make`` makes; where the data do not allow it, note why."""
        try:
            return make(*args, **kwargs)
        except NotShownError as error:
            self.absent.append(f"{what}: {error}")
            return None

    def _last(self) -> list[FeatureFile]:
        """Return representations of methods and baselines at their last step."""
        return [
            file
            for file in self.files
            if file.step is None
            and (file.representation in self.methods or file.source.kind != "encoder")
        ]

    def _with_features(self, what: str) -> list[FeatureFile]:
        """Return those of `_last` that have features; note the others as absent from ``what``."""
        last = self._last()
        for file in last:
            if file.source.is_absent:
                why = "its run was brought without weights"
                self.absent.append(f"{what} of {file.representation}: {why}")
        return [file for file in last if not file.source.is_absent]

    def _last_step(self, name: str) -> int:
        (encoder,) = (
            file.source.encoder
            for file in self.files
            if file.representation == name and file.step is None
        )
        return encoder_step(encoder) if encoder is not None else 0

    def _afib_plan(self, what: str) -> Plan | None:
        for name in _AFIB_BENCHMARKS:
            if name in self.plans:
                return self.plans[name]
        self.absent.append(f"{what}: no data set with AFib labelled window by window")
        return None

    def _read(self, windows: Windows) -> NDArray[np.float32]:
        return self.store.read(windows.recording_id, windows.row)

    def _quality_and_rhythm(self, windows: Windows) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
        """Return quality and rhythm of windows, in their order."""
        wanted = {"ids": windows.recording_id.tolist(), "rows": windows.row.tolist()}
        sql = """
            SELECT w.quality::VARCHAR AS quality, coalesce(w.rhythm::VARCHAR, '') AS rhythm
            FROM (
                SELECT unnest($ids) AS recording_id, unnest($rows) AS "row",
                       unnest(range(len($ids))) AS place
            ) AS a
            JOIN windows w USING (recording_id, "row")
            ORDER BY place
        """
        columns = self.index.execute(sql, wanted).fetchnumpy()
        return columns["quality"], columns["rhythm"]
