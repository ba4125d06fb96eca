"""Download of the open data sets from PhysioNet, and the steps to the restricted one."""

from __future__ import annotations

from pathlib import Path

from storage.errors import DeapsError

PHYSIONET = {
    "mitdb": "mitdb",
    "afdb": "afdb",
    "afpdb": "afpdb",
    "ecgiddb": "ecgiddb",
    "challenge2017": "challenge-2017",
}
"""PhysioNet's name of each data set that anyone may download (ODC-By 1.0)."""

SHHS_STEPS = """\
SHHS is shared by the National Sleep Research Resource under a data-use agreement and cannot be
downloaded here.
  1. Make an account at sleepdata.org and request access to SHHS (Data Access and Use Agreement).
  2. When it is granted, install NSRR's client (gem install nsrr) and download, into one folder:
       nsrr download shhs/polysomnography/edfs/shhs1
       nsrr download shhs/polysomnography/edfs/shhs2
       nsrr download shhs/datasets
     8,444 EDF files, 356 GB. The folder then holds polysomnography/ and datasets/.
  3. deaps preprocess --set data.shhs=/path/to/that/folder
"""

_CHALLENGE = "challenge-2017"
_CHALLENGE_VERSION = "1.0.0"
_CHALLENGE_PARTS = ("training", "validation")


class NotFetchableError(DeapsError):
    """A data set that cannot be downloaded; the message says what to do instead."""


def fetch(name: str, folder: Path) -> None:
    """Download one data set into ``folder``, going on where an earlier download stopped.

    Raises
    ------
    NotFetchableError
        For SHHS, with the steps to it, and for names that are not known.
    """
    if name == "shhs":
        raise NotFetchableError(SHHS_STEPS)
    if name not in PHYSIONET:
        raise NotFetchableError(f"no data set {name!r} to fetch; possible: {', '.join(PHYSIONET)}")
    folder.mkdir(parents=True, exist_ok=True)
    if name == "challenge2017":
        _fetch_challenge(folder)
    else:
        import wfdb

        wfdb.dl_database(PHYSIONET[name], str(folder))


def _fetch_challenge(folder: Path) -> None:
    """Download by name, without parsing headers: wfdb refuses the older ones among them."""
    import wfdb

    for part in _CHALLENGE_PARTS:
        records = wfdb.get_record_list(f"{_CHALLENGE}/{_CHALLENGE_VERSION}/{part}")
        files = [f"{part}/{record}{suffix}" for record in records for suffix in (".mat", ".hea")]
        labels = "REFERENCE-v3.csv" if part == "training" else "REFERENCE.csv"
        wfdb.dl_files(_CHALLENGE, str(folder), [*files, f"{part}/{labels}"])
