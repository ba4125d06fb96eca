"""A whole evaluation with made figures: every part of the document, the same at every call."""

from __future__ import annotations

import base64
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.document import (
    Ablation,
    AblationRow,
    BenchmarkFacts,
    BenchmarkRecord,
    ComparisonFamily,
    Component,
    CurvePoint,
    Difference,
    EmbeddingMap,
    Evaluation,
    Evolution,
    FewLabelComparison,
    FewLabelCurve,
    FoldScore,
    GradualUse,
    MetricComparison,
    Outcome,
    Pca,
    ProbeOutcome,
    Provenance,
    QualityCount,
    QualityExample,
    Ranks,
    Representation,
    RepresentationRole,
    Score,
    Stage,
    Strip,
    TrainedRun,
    TrainingCurve,
    Trial,
)
from deaps.paper import FEATURES, SPAN_S, paper_figure

METHODS = {
    "deaps": "DEAPS",
    "byol": "BYOL",
    "pclr": "PCLR",
    "clocs": "CLOCS",
    "mixing-up": "Mixing-Up",
    "tf-c": "TF-C",
}
BASELINES = {"random": "random encoder", "classical": "classical features", "rr": "six RR numbers"}
JOINED = {"deaps + rr": "DEAPS + RR"}
ABLATED = {
    "deaps-covariance": "BYOL + covariance",
    "deaps-unmasked": "DEAPS without mask",
    "deaps-90": "DEAPS, span 90 s",
    "deaps-150": "DEAPS, span 150 s",
    "deaps-16": "DEAPS, 16 features",
    "deaps-48": "DEAPS, 48 features",
}
LABELS = METHODS | BASELINES | JOINED | ABLATED
SKILL = {
    "deaps": 0.80,
    "byol": 0.74,
    "pclr": 0.73,
    "clocs": 0.70,
    "mixing-up": 0.68,
    "tf-c": 0.66,
    "random": 0.60,
    "classical": 0.71,
    "rr": 0.77,
    "deaps + rr": 0.82,
    "deaps-covariance": 0.75,
    "deaps-unmasked": 0.77,
    "deaps-90": 0.76,
    "deaps-150": 0.78,
    "deaps-16": 0.77,
    "deaps-48": 0.79,
}
DATASETS = {
    "shhs": "SHHS",
    "mitdb": "MIT-ARR",
    "challenge2017": "Challenge 2017",
    "afpdb": "AFPDB",
    "ecgiddb": "ECG-ID",
}
NOT_RUN = "no data at data/afdb (MIT-AFIB); fetch it with `deaps fetch afdb`"
ABSENT = (
    "pca: MIT-AFIB could not be shown: no data at data/afdb",
    "gallery: a kind of figure that this evaluation does not have",
)
MEASURED_BY_STEP = (
    ("mitdb-loo", "accuracy"),
    ("mitdb-loo", "auroc"),
    ("challenge2017", "accuracy"),
)
FEW = (4, 8, 16, 32, 64, 128, 256, 512)
FS = 100.0
SAMPLES = 1000


@cache
def made_evaluation() -> Evaluation:
    """Return six methods, two baselines, six ablations; one benchmark of five was not run."""
    return Evaluation(
        id="20260131-3f9c2a71",
        title="DEAPS on open data: atrial fibrillation, sex and rhythm from frozen representations",
        datasets=DATASETS,
        representations=_representations(),
        benchmarks=_benchmarks(),
        few_labels=tuple(
            _few_labels(name, benchmark, metric)
            for benchmark, metric in (("challenge2017", "accuracy"), ("challenge2017", "f1"))
            for name in (METHODS | BASELINES)
        ),
        few_label_comparisons=tuple(
            FewLabelComparison(
                benchmark="challenge2017",
                people=people,
                comparison=_comparison(family, metric, f"challenge2017 {people}"),
            )
            for metric in ("accuracy", "f1")
            for people in FEW
            for family in ("methods", "baselines")
        ),
        ranks=_ranks(),
        pca=tuple(_pca(name) for name in (METHODS | BASELINES)),
        evolution=tuple(
            _evolution(name, *measured) for measured in MEASURED_BY_STEP for name in METHODS
        ),
        ablations=_ablations(),
        training=tuple(_training(name) for name in (METHODS | ABLATED)),
        gradual=tuple(
            GradualUse(
                representation="deaps",
                seed=s,
                own=0.05,
                swapped=0.06,
                first=0.07,
                other_subject=0.7,
            )
            for s in range(3)
        ),
        quality=_quality(),
        strips=_strips(),
        quality_examples=_quality_examples(),
        map=_map(),
        trials=_trials(),
        absent=ABSENT,
        provenance=_provenance(),
    )


def _rng(*words: str) -> np.random.Generator:
    return np.random.default_rng(list("/".join(words).encode()))


def _representations() -> tuple[Representation, ...]:
    roles: list[tuple[RepresentationRole, dict[str, str]]]
    roles = [
        ("method", METHODS), ("baseline", BASELINES), ("ablation", ABLATED), ("joined", JOINED)
    ]  # fmt: skip
    return tuple(
        _representation(name, label, role)
        for role, labels in roles
        for name, label in labels.items()
    )


def _representation(name: str, label: str, role: RepresentationRole) -> Representation:
    if role in ("baseline", "joined"):
        classical = name == "classical"
        return Representation(
            name=name,
            label=label,
            role=role,
            features=41 if classical else 128,
            parameters=None if classical else 1_192_616,
            deviations=("Rates and shapes by NeuroKit2.",) if classical else (),
        )
    is_tfc = name == "tf-c"
    return Representation(
        name=name,
        label=label,
        role=role,
        features=256 if is_tfc else 128,
        parameters=32_623_328 if is_tfc else 1_192_616,
        runs=tuple(
            TrainedRun(name=f"{name}-{hash_of(name):08x}-{seed}", seed=seed)
            for seed in range(3 if role == "method" else 1)
        ),
        iterations=1250 if is_tfc else 500,
        batch=48,
        deviations=DEVIATIONS.get(name, ()),
    )


def hash_of(text: str) -> int:
    """Return a number that stands for a text, the same in every process."""
    return int.from_bytes(text.encode()[:5].ljust(5, b"."))


DEVIATIONS = {
    "deaps": (
        "Pairs come from distant parts of one recording: the open pre-training set has one visit.",
        "500 iterations at batch 48, against 30,000 at batch 256.",
    ),
    "mixing-up": ("The partner of a window comes from the batch, as its authors do.",),
    "tf-c": ("Attention stays within a window; the public code lets it run across the batch.",),
}


def _benchmarks() -> tuple[BenchmarkRecord, ...]:
    return (
        BenchmarkRecord(
            name="afib-transfer",
            title="AFib, MIT-ARR to MIT-AFIB",
            protocol="Fitted on the eight MIT-ARR records with AFib, tested on all 23 MIT-AFIB "
            "records.",
            classes=("normal", "AFib"),
            not_run=NOT_RUN,
        ),
        _benchmark(
            "mitdb-loo",
            "AFib, MIT-ARR, one subject left out",
            "The eight MIT-ARR records with AFib, each subject left out in turn; records 201 and "
            "202 are one person. The paper does the same on MIT-AFIB.",
            {"normal": 880, "AFib": 420},
            folds=7,
            binary=True,
        ),
        _benchmark(
            "gender",
            "Sex, five folds",
            "One window of each ECG-ID recording, five folds by person. The paper draws 1,549 "
            "windows of as many SHHS subjects.",
            {"male": 160, "female": 150},
            folds=5,
        ),
        _benchmark(
            "challenge2017",
            "Challenge 2017",
            "Fitted on the training records without the 300 of the validation set, tested on "
            "these; a recording is the mean over its windows.",
            {"normal": 148, "AFib": 47, "other": 65},
            folds=1,
        ),
        _benchmark(
            "inner-challenge",
            "Challenge 2017, inner folds",
            "Five folds of the training side.",
            {"normal": 700, "AFib": 130, "other": 328},
            folds=5,
            reported=False,
        ),
    )


def _benchmark(
    name: str,
    title: str,
    protocol: str,
    tested: dict[str, int],
    *,
    folds: int,
    binary: bool = False,
    reported: bool = True,
) -> BenchmarkRecord:
    total = sum(tested.values())
    facts = BenchmarkFacts(
        examples={label: 4 * n for label, n in tested.items()},
        windows={label: 11 * n for label, n in tested.items()},
        tested=tested,
        subjects=23,
        folds=folds,
        majority=max(tested.values()) / total,
        quality_rule="every window that passes the gate",
        label_version="v3" if "challenge" in name else None,
        seed=0,
        removed=("12 recordings of the validation set were removed from the training side.",)
        if name == "challenge2017"
        else (),
    )
    return BenchmarkRecord(
        name=name,
        title=title,
        protocol=protocol,
        classes=tuple(tested),
        reported=reported,
        facts=facts,
        seen="12 of 23 tested people are in the pre-training of deaps, without labels; the "
        "benchmark declares it."
        if name == "gender"
        else None,
        outcomes=tuple(_outcome(one, name, tested, folds, binary=binary) for one in LABELS),
        probes=tuple(
            _probe_outcome(probe, one, name)
            for probe in ("logistic regression", "nearest neighbours")
            for one in LABELS
        )
        if reported
        else (),
        comparisons=tuple(
            _comparison(family, metric, name)
            for metric in ("accuracy", "auroc" if binary else "balanced accuracy")
            for family in COMPARATORS
        )
        if reported
        else (),
    )


COMPARATORS: dict[ComparisonFamily, list[str]] = {
    "methods": [name for name in METHODS if name != "deaps"],
    "baselines": list(BASELINES),
    "components": ["pclr", "byol", "deaps-covariance", "deaps-unmasked"],
    "sizes": ["deaps-90", "deaps-16", "deaps-48"],
    "joined": ["rr"],
}


def _comparison(family: ComparisonFamily, metric: str, benchmark: str) -> MetricComparison:
    reference = "deaps + rr" if family == "joined" else "deaps"
    people = 7 if benchmark == "mitdb-loo" else 90
    differences = tuple(
        _difference(reference, comparator, metric, benchmark, people)
        for comparator in COMPARATORS[family]
    )
    return MetricComparison(
        family=family,
        metric=metric,
        reference=reference,
        n_subjects=people,
        smallest_p=2.0 ** (1 - people) * len(differences),
        differences=differences,
    )


def _difference(
    reference: str, comparator: str, metric: str, benchmark: str, people: int
) -> Difference:
    rng = _rng("difference", reference, comparator, metric, benchmark)
    value = SKILL[reference] - SKILL[comparator] + rng.normal(0, 0.01)
    half = 0.5 / np.sqrt(people)
    p = float(np.clip(np.exp(-6 * abs(value) / half), 2.0 ** (1 - people), 1))
    return Difference(
        comparator=comparator,
        value=value,
        low=value - half,
        high=value + half,
        family_low=value - 1.4 * half,
        family_high=value + 1.4 * half,
        p=p,
        p_holm=min(1.0, 3 * p),
        exact=people <= 20,
        scope="people and seeds" if comparator in METHODS else "people; nothing depends on a seed",
        significant=abs(value) > 1.4 * half and 3 * p < 0.05,
    )


def _probe_outcome(probe: str, representation: str, benchmark: str) -> ProbeOutcome:
    rng = _rng(probe, representation, benchmark)
    values = np.clip(SKILL[representation] + rng.normal(0, 0.02, 2), 0, 1)
    scores = tuple(
        _score(metric, float(value), 260)
        for metric, value in zip(("accuracy", "balanced accuracy"), values, strict=True)
    )
    return ProbeOutcome(probe=probe, representation=representation, scores=scores)


def _few_labels(name: str, benchmark: str, metric: str) -> FewLabelCurve:
    rng = _rng("few", name, benchmark, metric)
    points = []
    for people in FEW:
        share = 1 - np.exp(-people / 40)
        value = 0.45 + (SKILL[name] - 0.45) * share + rng.normal(0, 0.008)
        low, high = value - 0.2 / np.sqrt(people), value + 0.2 / np.sqrt(people)
        points.append(
            CurvePoint(
                people=people, value=value, low=low, high=high, draws=10, scope="people and seeds"
            )
        )
    return FewLabelCurve(
        representation=name, benchmark=benchmark, metric=metric, points=tuple(points)
    )


def _ranks() -> Ranks:
    order = sorted(METHODS, key=lambda name: -SKILL[name])
    by_benchmark = {
        benchmark: {name: float(order.index(name) + 1) for name in METHODS}
        for benchmark in ("mitdb-loo", "gender", "challenge2017")
    }
    return Ranks(
        metric="accuracy",
        mean={name: float(place + 1) for place, name in enumerate(order)},
        by_benchmark=by_benchmark,
        critical_difference=4.35,
    )


def _outcome(
    representation: str, benchmark: str, tested: dict[str, int], folds: int, *, binary: bool
) -> Outcome:
    rng = _rng(representation, benchmark)
    confusion = _confusion(rng, SKILL[representation], list(tested.values()))
    names = tuple(f"fold {k + 1}" for k in range(folds))
    accuracies = np.clip(SKILL[representation] + rng.normal(0, 0.12, folds), 0.05, 1)
    sizes = rng.integers(20, 200, folds)
    return Outcome(
        representation=representation,
        scores=tuple(_scores(confusion, list(tested), accuracies, binary=binary)),
        confusion=tuple(tuple(int(n) for n in row) for row in confusion),
        folds=tuple(
            FoldScore(name=name, n=int(n), accuracy=float(share))
            for name, n, share in zip(names, sizes, accuracies, strict=True)
        ),
    )


def _confusion(rng: np.random.Generator, skill: float, sizes: list[int]) -> NDArray[np.int64]:
    k = len(sizes)
    rows = []
    for true, size in enumerate(sizes):
        shares = np.full(k, (1 - skill) / (k - 1)) * rng.uniform(0.6, 1.4, k)
        shares[true] = skill
        rows.append(rng.multinomial(size, shares / shares.sum()))
    return np.array(rows)


def _scores(
    confusion: NDArray[np.int64], classes: list[str], folds: NDArray[np.float64], *, binary: bool
) -> list[Score]:
    total = int(confusion.sum())
    several = len(folds) > 1
    accuracy = float(folds.mean()) if several else float(np.trace(confusion) / total)
    deviation = float(folds.std()) if several else None
    scores = [_score("accuracy", accuracy, total, deviation)]
    recalls = np.diag(confusion) / confusion.sum(axis=1)
    precisions = np.diag(confusion) / confusion.sum(axis=0)
    if binary:
        scores.append(_score("sensitivity", recalls[1], total))
        scores.append(_score("specificity", recalls[0], total))
    for place, name in enumerate(classes):
        scores.append(_score(f"recall {name}", recalls[place], int(confusion[place].sum())))
        scores.append(_score(f"precision {name}", precisions[place], total))
    return scores


def _score(metric: str, value: float, n: int, deviation: float | None = None) -> Score:
    half = 1.96 * np.sqrt(value * (1 - value) / n) + 0.01
    return Score(
        metric=metric,
        value=float(value),
        low=max(0.0, float(value - half)),
        high=min(1.0, float(value + half)),
        deviation=deviation,
        n=n,
        by_seed=(value - 0.01, value, value + 0.01),
        scope="people and seeds",
    )


def _pca(name: str) -> Pca:
    rng = _rng("pca", name)
    subjects, each = 15, 40
    apart = 1.6 if name in ("pclr", "clocs") else 0.7
    centres = rng.normal(0, apart, (subjects, 2))
    subject = np.repeat(np.arange(subjects), each)
    afib = rng.random(subjects * each) < 0.4
    places = centres[subject] + rng.normal(0, 0.45, (len(subject), 2))
    places[:, 0] += (SKILL[name] - 0.55) * 6 * afib
    return Pca(
        representation=name,
        dataset="mitdb",
        silhouette=round(0.25 * apart - 0.2, 3),
        components=tuple(_component(rng, SKILL[name], k) for k in range(6)),
        x=tuple(map(float, places[:, 0])),
        y=tuple(map(float, places[:, 1])),
        subject=tuple(map(int, subject)),
        afib=tuple(map(bool, afib)),
    )


def _component(rng: np.random.Generator, skill: float, place: int) -> Component:
    grid = np.linspace(-4, 4, 60)
    shift = (skill - 0.5) * 7 / (place + 1)
    width = rng.uniform(0.6, 1.1, 2)
    afib = np.exp(-0.5 * ((grid - shift) / width[0]) ** 2) / width[0]
    normal = np.exp(-0.5 * ((grid + 0.3) / width[1]) ** 2) / width[1]
    return Component(
        explained=0.34 / (1 + place),
        ks=min(0.95, 0.1 + 0.28 * shift),
        auc=min(0.99, 0.5 + 0.2 * shift),
        grid=tuple(map(float, grid)),
        afib=tuple(map(float, afib)),
        normal=tuple(map(float, normal)),
    )


def _evolution(name: str, benchmark: str, metric: str) -> Evolution:
    rng = _rng("evolution", name, benchmark, metric)
    steps = np.arange(0, 501, 50)
    share = 1 - np.exp(-steps / 160)
    values = 0.57 + (SKILL[name] - 0.57) * share + rng.normal(0, 0.008, len(steps))
    fitted_steps = np.linspace(0, 500, 60)
    fitted = np.polyval(np.polyfit(steps, values, 3), fitted_steps)
    return Evolution(
        representation=name,
        benchmark=benchmark,
        metric=metric,
        steps=tuple(map(int, steps)),
        values=tuple(map(float, values)),
        degree=3,
        fitted_steps=tuple(map(float, fitted_steps)),
        fitted=tuple(map(float, fitted)),
        doubling_gain=float(np.polyfit(np.log2(steps[1:]), values[1:], 1)[0]),
        doubling_error=0.004,
    )


def _ablations() -> tuple[Ablation, ...]:
    ladder = {
        "PCLR": "pclr",
        "BYOL": "byol",
        "+ covariance": "deaps-covariance",
        "+ gradual loss": "deaps-unmasked",
        "+ mask (DEAPS)": "deaps",
    }
    rungs = tuple(
        AblationRow(label=label, representation=name, paper=_challenge_figure(name))
        for label, name in ladder.items()
    )
    spans = {90: "deaps-90", 120: "deaps", 150: None}
    features = {16: "deaps-16", 32: "deaps", 48: "deaps-48"}
    return (
        Ablation(name="components", title="Components", rows=rungs),
        Ablation(
            name="span",
            title="Span of a triplet",
            rows=tuple(
                AblationRow(label=f"{span} s", representation=name, paper=SPAN_S[span])
                for span, name in spans.items()
            ),
        ),
        Ablation(
            name="features",
            title="Features that the mask keeps",
            rows=tuple(
                AblationRow(label=str(kept), representation=name, paper=FEATURES[kept])
                for kept, name in features.items()
            ),
        ),
    )


def _challenge_figure(name: str) -> dict[str, float]:
    printed = paper_figure("challenge2017", name, "accuracy")
    return {"challenge2017": printed.value} if printed else {}


def _training(name: str) -> TrainingCurve:
    rng = _rng("training", name)
    steps = np.arange(5, 501, 5)
    start = 4.5 if name in ("pclr", "clocs") else 1.9
    loss = start * (0.35 + 0.65 * np.exp(-steps / 120)) + rng.normal(0, 0.03, len(steps))
    std = 0.088 - 0.03 * np.exp(-steps / 60) + rng.normal(0, 0.001, len(steps))
    rank = 60 * (1 - np.exp(-steps / 140)) + 6 + rng.normal(0, 1, len(steps))
    return TrainingCurve(
        representation=name,
        steps=tuple(map(int, steps)),
        loss=tuple(map(float, loss)),
        representation_std=tuple(map(float, std)),
        effective_rank=tuple(map(float, rank)),
        windows_per_s=tuple(map(float, rng.normal(212, 9, len(steps)))),
        seconds=float(rng.uniform(500, 760)),
    )


def _quality() -> tuple[QualityCount, ...]:
    sizes = {("shhs", 1): 9000, ("shhs", 2): 8400, ("mitdb", 1): 8640, ("challenge2017", 1): 25000}
    sizes |= {("afpdb", 1): 18000, ("ecgiddb", 1): 620}
    counts = []
    for (dataset, visit), total in sizes.items():
        rng = _rng("quality", dataset, str(visit))
        shares = rng.dirichlet([12, 5, 2])
        for quality, share in zip(
            ("Unacceptable", "Excellent", "Barely acceptable"), shares[[2, 0, 1]], strict=True
        ):
            counts.append(
                QualityCount(
                    dataset=dataset, visit=visit, quality=quality, n_windows=int(share * total)
                )
            )
    return tuple(counts)


WAVES = ((-0.17, 0.35, 0.03), (0, 3.2, 0.012), (0.03, -0.7, 0.012), (0.28, 0.7, 0.05))
"""Of a beat: delay, height and width."""


def made_ecg(
    *, rate: float, irregular: float, seed: int, noise: float = 0.05
) -> NDArray[np.float64]:
    """Return 10 s that look like an ECG, in standard deviations."""
    rng = np.random.default_rng(seed)
    seconds = np.arange(SAMPLES) / FS
    signal = noise * rng.normal(size=SAMPLES)
    beat = 0.3
    while beat < 10.5:
        # In AFib there is no P wave.
        for delay, height, width in WAVES[1:] if irregular else WAVES:
            signal += height * np.exp(-0.5 * ((seconds - beat - delay) / width) ** 2)
        beat += 60 / rate * (1 + irregular * rng.uniform(-0.45, 0.45))
    return (signal - signal.mean()) / signal.std()


def _strip(caption: str, signal: NDArray[np.float64]) -> Strip:
    return Strip(caption=caption, fs=FS, signal=tuple(round(float(v), 3) for v in signal))


def _strips() -> tuple[Strip, ...]:
    return (
        _strip("MIT-ARR 201, normal rhythm", made_ecg(rate=70, irregular=0, seed=1)),
        _strip("MIT-ARR 201, AFib", made_ecg(rate=95, irregular=1, seed=2, noise=0.12)),
        _strip("MIT-ARR 203, AFib", made_ecg(rate=110, irregular=1, seed=3, noise=0.2)),
    )


def _quality_examples() -> tuple[QualityExample, ...]:
    rng = np.random.default_rng(5)
    clean = made_ecg(rate=66, irregular=0, seed=6)
    noisy = made_ecg(rate=72, irregular=0, seed=7, noise=0.5)
    spoilt = np.cumsum(rng.normal(0, 0.5, SAMPLES))
    spoilt = 3 * (spoilt - spoilt.mean()) / spoilt.std()
    named = {"Excellent": clean, "Barely acceptable": noisy, "Unacceptable": spoilt}
    return tuple(
        QualityExample(quality=quality, strip=_strip("challenge2017, A00012, 0 s", signal))
        for quality, signal in named.items()
    )


def _map() -> EmbeddingMap:
    rng = _rng("map")
    points, fs = 240, 50.0
    subject = rng.integers(0, 12, points)
    afib = rng.random(points) < 0.4
    angle = subject / 12 * 2 * np.pi
    x = 3 * np.cos(angle) + rng.normal(0, 0.7, points) + 2.5 * afib
    y = 3 * np.sin(angle) + rng.normal(0, 0.7, points)
    signals = np.array(
        [
            made_ecg(rate=60 + 4 * s, irregular=float(a), seed=k)[::2]
            for k, (s, a) in enumerate(zip(subject, afib, strict=True))
        ]
    )
    scale = float(np.abs(signals).max() / 127)
    strips = np.round(signals / scale).astype(np.int8)
    return EmbeddingMap(
        representation="deaps",
        method="t-SNE, perplexity 30",
        x=tuple(map(float, x)),
        y=tuple(map(float, y)),
        label=tuple("AFib" if one else "normal" for one in afib),
        subject=tuple(map(int, subject)),
        fs=fs,
        samples=strips.shape[1],
        strips=base64.b64encode(strips.tobytes()).decode(),
        scale=scale,
    )


def _trials() -> tuple[Trial, ...]:
    inner = "inner-challenge"
    return (
        Trial(name="defaults", changed="nothing", scores={inner: 0.651}),
        Trial(name="warm-up", changed="training.warmup = 50", scores={inner: 0.672}, chosen=True),
        Trial(name="rate", changed="training.learning_rate = 1e-3", scores={inner: 0.634}),
    )


def _provenance() -> Provenance:
    return Provenance(
        snapshot_id="9f2b61c0d4e8a375",
        created_at="2026-01-31T08:15:02+00:00",
        command="deaps run --preset open",
        versions={"deaps": "0.1.0", "Python": "3.11.7", "torch": "2.13.0", "scikit-learn": "1.9.1"},
        hardware={"CPU": "2 cores, x86-64 with AVX-512", "memory": "16 GB", "GPU": "none"},
        settings='[training]\nbatch = 48\nseed = 0\n\n[sampling]\ndatasets = ["afpdb"]\n',
        digests={name: f"{hash_of(name):010x}" * 6 + "c0de" for name in (*METHODS, "mitdb")},
        seeds={"training": 0, "folds": 0, "bootstrap": 7},
        stages=(
            Stage(name="preprocess", seconds=184.2),
            Stage(name="train", seconds=6911.0),
            Stage(name="embed", seconds=42.1),
            Stage(name="benchmarks", seconds=311.7),
        ),
    )
