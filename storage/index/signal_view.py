"""SQL of the view `windows_with_signal`: windows with their samples, read from the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from storage.snapshot import sql_literal

STORE_VARIABLE = "deaps_store"
"""DuckDB variable with the store's new folder, for the view to use after a move."""

_VIEW = """
CREATE VIEW windows_with_signal AS
SELECT r.recording_id, f."row", r.dataset, r.name, r.subject, r.visit, r.sex, r.age, r.label,
       r.split, f.start_s,
       f.quality::quality_class AS quality, f.quality4::quality_class AS quality4,
       f.psqi, f.ksqi, f.bassqi, f.qsqi, f.hr_max, f.flat, f.clipped, f.nonfinite,
       coalesce(f.rhythm, r.rhythm)::rhythm_label AS rhythm, f.rhythm_share, f.signal
FROM {source} f JOIN recordings r ON f.filename = {store} || r.path
WHERE r.status = 'ok'
"""

_NO_FILES = """(
    SELECT NULL::FLOAT[] AS signal, NULL::VARCHAR AS filename, *
    FROM windows LIMIT 0
)"""


def signal_view_sql(root: Path, paths: Sequence[str]) -> str:
    """Return the statement that makes the view over window files, named relative to the store.

    The list of files is a constant of the view: DuckDB refuses a subquery there. A condition on
    `recordings` then opens only the files it needs.
    """
    store = _store_expression(root)
    source = _files_expression(store, paths) if paths else _NO_FILES
    return _VIEW.format(source=source, store=store)


def _store_expression(root: Path) -> str:
    published = f"{root.as_posix().rstrip('/')}/"
    return f"coalesce(rtrim(getvariable('{STORE_VARIABLE}'), '/') || '/', {sql_literal(published)})"


def _files_expression(store: str, paths: Sequence[str]) -> str:
    files = ", ".join(sql_literal(path) for path in paths)
    # A folder named like "site=3" would otherwise become a column of its own.
    return (
        f"read_parquet(list_transform([{files}], lambda f: {store} || f), "
        "filename = true, hive_partitioning = false, union_by_name = false)"
    )
