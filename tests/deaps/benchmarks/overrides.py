"""Settings with which training and evaluating a made store take seconds."""

from __future__ import annotations

SMALL_EXPERIMENT = (
    'sampling.datasets=["shhs"]', "training.batch=4", "training.iterations=2",
    "training.evolution_every=1", "training.checkpoint_every=2", "training.metrics_every=1",
    'experiment.methods=["byol"]', "experiment.ablations=[]", "experiment.classical=false",
    "benchmarks.gender_subjects=20", "benchmarks.few_recordings=2", "benchmarks.few_draws=2",
    "benchmarks.bootstrap=20",
)  # fmt: skip
