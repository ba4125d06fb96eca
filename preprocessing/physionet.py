"""Downloads from PhysioNet, through wfdb, which goes on where an earlier download stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def download_database(slug: str, folder: Path) -> None:
    """Download every record of a database with the annotations that it lists."""
    import wfdb

    folder.mkdir(parents=True, exist_ok=True)
    wfdb.dl_database(slug, str(folder))


def download_files(
    slug: str,
    folder: Path,
    *,
    records_in: str,
    suffixes: Sequence[str],
    prefix: str = "",
    extra: Sequence[str] = (),
) -> None:
    """Download the files of each record by name, without opening headers, and ``extra`` files.

    Parameters
    ----------
    slug
        PhysioNet's name of the database.
    records_in
        Folder on PhysioNet whose file ``RECORDS`` lists the records, with the version, such as
        ``challenge-2017/1.0.0/training``.
    suffixes
        Endings of a record's files, such as ``.hea``.
    prefix
        What stands before a record's name in the database, such as ``training/``.
    """
    import wfdb

    folder.mkdir(parents=True, exist_ok=True)
    records = wfdb.get_record_list(records_in)
    files = [f"{prefix}{record}{suffix}" for record in records for suffix in suffixes]
    wfdb.dl_files(slug, str(folder), [*files, *extra])
