"""How the trainings went: loss, collapse, throughput."""

from __future__ import annotations

from statistics import median

from deaps.evaluation import Evaluation, TrainingCurve
from deaps.report.absence import notices
from deaps.report.figures.training import training_plot
from deaps.report.parts import Body, Cell, ColumnGroup, Figure, Panel, Part, Row, Section, Table
from deaps.report.titles import representation_label
from deaps.report.wording import count, duration, significant, slug


def training_section(evaluation: Evaluation) -> Section:
    """Return curves of each run and a table of their last values and of throughput."""
    curves = evaluation.training
    parts: list[Part] = [*notices(evaluation, "training", empty=not curves)]
    if curves:
        parts += [_figure(evaluation), _table(evaluation)]
    return Section("training", "Training", tuple(parts))


def _figure(evaluation: Evaluation) -> Figure:
    return Figure(
        id="figure-training",
        caption="Loss, and two measures of the representation on which collapse would show as a "
        "fall towards zero: the mean standard deviation of unit-length representations "
        "(uncorrelated features give about 1 / √d), and their effective rank. The losses of "
        "different methods cannot be compared.",
        panels=tuple(_panel(evaluation, curve) for curve in evaluation.training),
        layout="grid",
    )


def _panel(evaluation: Evaluation, curve: TrainingCurve) -> Panel:
    title = representation_label(evaluation, curve.representation)
    label = f"{title}: loss, standard deviation and effective rank over {len(curve.steps)} points"
    svg = training_plot(curve, name=f"training-{slug(curve.representation)}", label=label)
    return Panel(svg, title=title)


def _table(evaluation: Evaluation) -> Table:
    return Table(
        id="table-training",
        caption="Runs, their last values, and their speed.",
        corner="",
        groups=(
            ColumnGroup("", ("iterations", "batch", "seed", "parameters")),
            ColumnGroup("at the end", ("loss", "std", "eff. rank")),
            ColumnGroup("speed", ("windows/s", "time")),
        ),
        bodies=(Body(tuple(_row(evaluation, curve) for curve in evaluation.training)),),
        notes=("windows/s: median over the logged steps. Time: of all steps together.",),
    )


def _row(evaluation: Evaluation, curve: TrainingCurve) -> Row:
    one = evaluation.representation(curve.representation)
    seed = "–" if one.seed is None else str(one.seed)
    texts = (
        *(count(one.iterations), count(one.batch), seed, count(one.parameters)),
        *(_last(curve.loss), _last(curve.representation_std), _last(curve.effective_rank)),
        *(_median(curve.windows_per_s), duration(curve.seconds)),
    )
    return Row(one.label, tuple(map(Cell, texts)))


def _last(values: tuple[float, ...]) -> str:
    return significant(values[-1] if values else None)


def _median(values: tuple[float, ...]) -> str:
    return significant(median(values) if values else None)
