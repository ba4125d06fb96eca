"""Each training: loss, measures of collapse, speed."""

from __future__ import annotations

from statistics import median

from deaps.evaluation.document import Evaluation, TrainingCurve
from deaps.report.figures.training import training_plot
from deaps.report.parts import Body, Cell, ColumnGroup, Figure, Panel, Part, Row, Section, Table
from deaps.report.results import representation_label
from deaps.report.sections.absent import notices
from deaps.report.wording import count, duration, significant, slug


def training_section(evaluation: Evaluation) -> Section:
    """Return curves of each run and a table of their last values and of throughput."""
    curves = evaluation.training
    parts: list[Part] = [*notices(evaluation, "training", empty=not curves)]
    if curves:
        parts += [_figure(evaluation), _table(evaluation)]
    if evaluation.gradual:
        parts.append(_gradual_table(evaluation))
    return Section("training", "Training", tuple(parts))


def _figure(evaluation: Evaluation) -> Figure:
    return Figure(
        id="figure-training",
        caption="Loss, standard deviation and effective rank during training. A collapse would "
        "show as a fall of the last two towards zero. The standard deviation is the mean over the "
        "features of unit-length representations; uncorrelated features give about 1 / √d. The "
        "losses of different methods cannot be compared.",
        panels=tuple(_panel(evaluation, curve) for curve in evaluation.training),
        arrangement="grid",
    )


def _panel(evaluation: Evaluation, curve: TrainingCurve) -> Panel:
    title = representation_label(evaluation, curve.representation)
    label = f"{title}: loss, standard deviation and effective rank over {len(curve.steps)} points"
    svg = training_plot(curve, name=f"training-{slug(curve.representation)}", label=label)
    return Panel(svg, title=title)


def _table(evaluation: Evaluation) -> Table:
    return Table(
        id="table-training",
        caption="Each run: its settings, its last values and its speed.",
        corner="",
        groups=(
            ColumnGroup("", ("iterations", "batch", "seed", "parameters")),
            ColumnGroup("at the end", ("loss", "std", "eff. rank")),
            ColumnGroup("speed", ("windows/s", "time")),
        ),
        bodies=(Body(tuple(_row(evaluation, curve) for curve in evaluation.training)),),
        notes=("windows/s: median over the logged steps. Time: all steps together.",),
    )


def _row(evaluation: Evaluation, curve: TrainingCurve) -> Row:
    representation = evaluation.representation(curve.representation)
    seed = str(representation.runs[0].seed) if representation.runs else "–"
    texts = (
        *(
            count(representation.iterations),
            count(representation.batch),
            seed,
            count(representation.parameters),
        ),
        *(_last(curve.loss), _last(curve.representation_std), _last(curve.effective_rank)),
        *(_median(curve.windows_per_s), duration(curve.seconds)),
    )
    return Row(representation.label, tuple(map(Cell, texts)))


def _gradual_table(evaluation: Evaluation) -> Table:
    rows = []
    for use in evaluation.gradual:
        label = representation_label(evaluation, use.representation)
        values = (use.own, use.swapped, use.first, use.stranger)
        rows.append(Row(label, (Cell(str(use.seed)), *(Cell(significant(v)) for v in values))))
    return Table(
        id="table-gradual",
        caption="What the gradual loss uses: its mean over the last twentieth of the steps, and "
        "that of the same triplets spoiled. It is minimised with the true middle alone.",
        corner="",
        groups=(
            ColumnGroup("", ("seed",)),
            ColumnGroup(
                "gradual loss with",
                ("the true middle", "i and j swapped", "the first window", "a stranger's middle"),
            ),
        ),
        bodies=(Body(tuple(rows)),),
        notes=(
            "If swapping i and j changes nothing, the time within a triplet is not used. If the "
            "first window does as well as the middle, the middle adds nothing. If a stranger's "
            "middle is far worse, the loss knows the person.",
        ),
    )


def _last(values: tuple[float, ...]) -> str:
    return significant(values[-1] if values else None)


def _median(values: tuple[float, ...]) -> str:
    return significant(median(values) if values else None)
