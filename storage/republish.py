"""Publishing again what is published: runs and results have changed, recordings have not."""

from __future__ import annotations

from pathlib import Path

from storage.publish import publish
from storage.published import load_published
from storage.snapshot import IndexMissingError, Snapshot


def republish(root: Path | str) -> Snapshot:
    """Publish the same recordings with the runs and results that are there now.

    Raises
    ------
    storage.snapshot.IndexMissingError
        If nothing is published.
    """
    published = load_published(root)
    if published is None:
        raise IndexMissingError(f"no index in {root}; run deaps preprocess")
    return publish(
        root,
        published.rows(),
        datasets=list(published.datasets.values()),
        settings=published.snapshot.settings,
    )
