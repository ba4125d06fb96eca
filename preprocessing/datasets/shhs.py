"""Sleep Heart Health Study: nights of polysomnography in EDF, two visits, and cohort tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from preprocessing.cohort import (
    SubjectValues,
    SubjectVisit,
    column_names,
    merge_values,
    parse_age,
    parse_sex,
    parse_visit,
    read_columns,
    read_values,
)
from preprocessing.datasets.interface import DataSet, register
from preprocessing.datasets.walk import list_files
from preprocessing.recording import CohortTables, Facts, FoundRecording, RawRecording
from storage.errors import DeapsError
from storage.schema import Scoring, SourceRole

_FILE_NAME = re.compile(r"shhs([12])-(\d+)\.edf", re.IGNORECASE)
_EDF_FOLDERS = ("polysomnography/edfs", "edfs", ".")
_NSRR, _PROFUSION = ("annotations-events-nsrr", "annotations-events-profusion")
_SCORING_FOLDERS = {_NSRR: "-nsrr.xml", _PROFUSION: "-profusion.xml"}
_ENCODING = "cp1252"
_VISITS = (1, 2)
_STEPS = """\
SHHS is shared by the National Sleep Research Resource under a data-use agreement and cannot be
downloaded here.
  1. Make an account at sleepdata.org and request access to SHHS (Data Access and Use Agreement).
  2. When it is granted, install NSRR's client (gem install nsrr) and download, into one folder:
       nsrr download shhs/polysomnography/edfs/shhs1
       nsrr download shhs/polysomnography/edfs/shhs2
       nsrr download shhs/polysomnography/annotations-events-nsrr
       nsrr download shhs/polysomnography/annotations-events-profusion
       nsrr download shhs/datasets
     8,444 EDF files, 356 GB. The folder then holds polysomnography/ and datasets/.
  3. deaps preprocess --set data.shhs=/path/to/that/folder
"""


class Shhs(DataSet):
    """SHHS as NSRR ships it; subjects are the ``nsrrid`` in the file name."""

    name = "shhs"
    label = "SHHS"
    about = "Sleep Heart Health Study, as NSRR ships it."
    reads_channels = True
    has_tables = True

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield every EDF of both visits; a file with another name is a subject of its own."""
        for visit in _VISITS:
            folder = _edf_folder(root, visit)
            scorings = _scoring_files(root, folder, visit)
            for file_name in list_files(root / folder):
                if not file_name.lower().endswith(".edf"):
                    continue
                match = _FILE_NAME.fullmatch(file_name)
                stem = file_name[: -len(".edf")]
                yield FoundRecording(
                    dataset=self.name,
                    name=stem,
                    subject=match.group(2) if match else stem,
                    visit=visit,
                    files=(
                        (f"{folder}/{file_name}", SourceRole.SIGNAL),
                        *((path, SourceRole.SCORING) for path in scorings.get(stem.lower(), ())),
                    ),
                )

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the ECG of one night."""
        from preprocessing.formats.edf import read_edf_lead

        return read_edf_lead(root / recording.files[0][0], channels)

    def scoring(
        self, root: Path, recording: FoundRecording, *, duration_s: float, truncated: bool
    ) -> Scoring:
        """Return the scoring of one night, from NSRR's file and Profusion's."""
        from preprocessing.formats.scoring_xml import read_night

        paths = dict.fromkeys(_SCORING_FOLDERS.values()) | {
            ending: root / path
            for path, role in recording.files
            for ending in _SCORING_FOLDERS.values()
            if role is SourceRole.SCORING and path.lower().endswith(ending)
        }
        nsrr, profusion = paths.values()
        return read_night(nsrr, profusion, duration_s=duration_s, truncated=truncated)

    def table_files(self, root: Path) -> list[Path]:
        """Return the cohort tables of both visits and the harmonised one, the newest version."""
        return [path for path in _tables(root).values() if path is not None]

    def tables(self, root: Path) -> CohortTables:
        """Return sex and age per recording; the visit's own table first, then the harmonised."""
        tables = _tables(root)
        facts: dict[str, Facts] = {}
        warnings: list[str] = []
        if (path := tables["harmonized"]) is not None:
            _add_harmonized(path, facts, warnings)
        for visit in _VISITS:
            if (path := tables[f"shhs{visit}"]) is not None:
                _add_visit(path, visit, facts, warnings)
            else:
                warnings.append(f"no datasets/shhs{visit}-dataset-*.csv: sex and age may be absent")
        return CohortTables(facts, warnings=tuple(warnings))

    def subject_columns(self, root: Path) -> list[str]:
        """Return the variables of all tables."""
        paths = self.table_files(root)
        return [name for path in paths for name in column_names(path, encoding=_ENCODING)]

    def subject_values(
        self, root: Path, columns: tuple[str, ...]
    ) -> tuple[SubjectValues, list[str]]:
        """Return values by ``nsrrid`` and visit; the visit's own table first."""
        rows: list[tuple[SubjectVisit, dict[str, str]]] = []
        warnings: list[str] = []
        tables = _tables(root)
        for visit in _VISITS:
            if (path := tables[f"shhs{visit}"]) is not None:
                rows += _keyed(path, columns, ("nsrrid",), warnings, visit)
        if (path := tables["harmonized"]) is not None:
            rows += _keyed(path, columns, ("nsrrid", "visitnumber"), warnings)
        return merge_values(rows), warnings

    def fetch(self, folder: Path) -> None:
        """Raise DeapsError with the steps to access."""
        raise DeapsError(_STEPS)


def _edf_folder(root: Path, visit: int) -> str:
    for base in _EDF_FOLDERS:
        folder = f"{base}/shhs{visit}" if base != "." else f"shhs{visit}"
        if (root / folder).is_dir():
            return folder
    return f"{_EDF_FOLDERS[0]}/shhs{visit}"


def _scoring_files(root: Path, edf_folder: str, visit: int) -> dict[str, list[str]]:
    """Return the scoring files of a visit, NSRR's first, by the recording's name in lower case."""
    base = edf_folder.rpartition("edfs/")[0]
    files: dict[str, list[str]] = {}
    for folder, ending in _SCORING_FOLDERS.items():
        path = f"{base}{folder}/shhs{visit}"
        for name in list_files(root / path):
            if name.lower().endswith(ending):
                files.setdefault(name[: -len(ending)].lower(), []).append(f"{path}/{name}")
    return files


def _tables(root: Path) -> dict[str, Path | None]:
    names = list_files(root / "datasets")
    patterns = {
        "harmonized": r"shhs-harmonized.*dataset-[\d.]+.*\.csv",
        "shhs1": r"shhs1-dataset-[\d.]+.*\.csv",
        "shhs2": r"shhs2-dataset-[\d.]+.*\.csv",
    }
    newest_files: dict[str, Path | None] = {}
    for key, pattern in patterns.items():
        matching = [name for name in names if re.fullmatch(pattern, name, re.IGNORECASE)]
        newest = max(matching, key=_version, default=None)
        newest_files[key] = root / "datasets" / newest if newest else None
    return newest_files


def _keyed(
    path: Path,
    columns: tuple[str, ...],
    keys: tuple[str, ...],
    warnings: list[str],
    visit: int | None = None,
) -> list[tuple[SubjectVisit, dict[str, str]]]:
    """Return a table's values with their subject and visit; rows without either are left out."""
    rows, problems = read_values(path, columns, keys, encoding=_ENCODING)
    warnings += problems
    keyed = []
    for row in rows:
        number = visit or parse_visit(row.get("visitnumber"))
        if row.get("nsrrid") and number:
            values = {name: value for name, value in row.items() if name in columns}
            keyed.append(((row["nsrrid"], number), values))
    return keyed


def _version(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _add_visit(path: Path, visit: int, facts: dict[str, Facts], warnings: list[str]) -> None:
    age_column = f"age_s{visit}"
    rows, problems = read_columns(path, ("nsrrid", "gender", age_column), encoding=_ENCODING)
    warnings += problems
    for row in rows:
        name = f"shhs{visit}-{row.get('nsrrid', '')}"
        harmonised = facts.get(name, Facts())
        facts[name] = Facts(
            sex=parse_sex(row.get("gender")) or harmonised.sex,
            age=_first(parse_age(row.get(age_column)), harmonised.age),
        )


def _add_harmonized(path: Path, facts: dict[str, Facts], warnings: list[str]) -> None:
    columns = ("nsrrid", "visitnumber", "nsrr_sex", "nsrr_age")
    rows, problems = read_columns(path, columns, encoding=_ENCODING)
    warnings += problems
    for row in rows:
        name = f"shhs{row.get('visitnumber', '')}-{row.get('nsrrid', '')}"
        facts[name] = Facts(parse_sex(row.get("nsrr_sex")), parse_age(row.get("nsrr_age")))


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


register(Shhs())
