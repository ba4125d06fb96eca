"""The demo's stages one after the other, without a Prefect run: what the flow is compared with.

Prefect is imported all the same, two seconds that both have.
"""

from __future__ import annotations

from flows.config import Settings, load_settings
from flows.experiment.plan import plan_experiment
from flows.ingest.recording import preprocess_chunk
from flows.ingest.scan import scan
from flows.runtime.dask_pool import worker_pool
from tests.flows.inline import publish_results


def main() -> None:
    """Run every stage of the demo."""
    settings = load_settings(preset="demo")
    preprocess(settings)
    train(settings)
    evaluate(settings)


def preprocess(settings: Settings) -> None:
    """Preprocess all recordings on the workers and publish."""
    found = scan(settings)
    with worker_pool(settings.execution) as client:
        jobs = [
            client.submit(preprocess_chunk, job, [recording], pure=False)
            for job, recording in found.todo()
        ]
        results = [job.result() for job in jobs]
    publish_results(found, results, settings)


def train(settings: Settings) -> None:
    """Train the whole experiment in this process, and publish each run in the index."""
    from deaps.train import train_run
    from deaps.training.run_folder import create_run
    from storage.publish import republish

    for trained in plan_experiment(settings).trained:
        train_run(create_run(settings.store.root, trained.plan).folder)
        republish(settings.store.root)


def evaluate(settings: Settings) -> None:
    """Measure and write the page: outside of a flow run its tasks are plain calls."""
    from flows.evaluate import evaluate as run_benchmarks
    from flows.experiment.state import write_page
    from flows.runtime.run_context import RunContext

    write_page(run_benchmarks(RunContext(settings)))


if __name__ == "__main__":
    main()
