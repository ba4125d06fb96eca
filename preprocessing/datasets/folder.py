"""A folder of the user's own files, with ``subjects.csv`` next to them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from preprocessing.cohort import (
    SubjectValues,
    SubjectVisit,
    column_names,
    merge_values,
    read_values,
)
from preprocessing.datasets.interface import DataSet, register
from preprocessing.datasets.walk import list_files, list_folders
from preprocessing.datasets.wfdb_dataset import is_file, wfdb_records, with_rhythms
from preprocessing.recording import (
    CohortTables,
    Facts,
    FoundRecording,
    RawRecording,
    UnreadableRecordingError,
)
from preprocessing.user_folder.names import FileNames, match_scorings
from preprocessing.user_folder.table import (
    COLUMNS,
    LAST_RESORTS,
    SYNONYMS,
    TABLE_NAMES,
    SubjectLine,
    SubjectTable,
    find_table,
    read_subject_table,
)
from storage.schema import Scoring, SourceRole

if TYPE_CHECKING:
    from preprocessing.scoring import ScoringDraft

EVENTS_NAME = "events.csv"
_NO_LINE = SubjectLine(None, None, None, None, None)
_SUFFIXES = (".edf", ".bdf", ".gdf", ".vhdr", ".fif")
"""Endings of files that hold a recording; a WFDB record is found by its header instead."""

RECORDING_SUFFIXES = (*_SUFFIXES, ".hea")
"""Endings of the files with which recordings are opened."""


class Folder(DataSet):
    """EDF, EDF+, BDF, GDF, BrainVision, FIF and WFDB files anywhere below one folder.

    ``subjects.csv``, in the folder or at ``table``, has the columns file (path relative to the
    folder), subject, visit, sex and age, written as people do (`read_subject_table`). A file that
    it does not name counts as a separate subject, visit 1.

    Stages and events come from ``events.csv`` (file, start_s, duration_s, event). If that does not
    name the file, they come from a scoring next to it (`preprocessing.user_folder.scorings`), or
    else from the annotations of an EDF+ file.
    """

    name = "folder"
    label = "Own files"
    about = "A folder of your own files, with subjects.csv."
    reads_channels = True
    has_tables = True

    def __init__(self, table: Path | None = None) -> None:
        self._table = table

    def with_subjects(self, table: Path | None) -> Folder:
        """Return the reader of a folder whose table of subjects lies elsewhere."""
        return Folder(table)

    def find(self, root: Path) -> Iterator[FoundRecording]:
        """Yield every file of a known format below ``root``."""
        found = list(_files(root, ""))
        lines = self._subjects(root, [path for path, _ in found]).lines
        events = ((EVENTS_NAME, SourceRole.SCORING),) if (root / EVENTS_NAME).is_file() else ()
        for path, files in found:
            line = lines.get(path, _NO_LINE)
            yield FoundRecording(
                dataset=self.name,
                name=path,
                subject=unicodedata.normalize("NFC", line.subject or own_subject(path)),
                visit=line.visit or 1,
                files=(*files, *events),
            )

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        """Return the ECG lead with the reader of the file's format."""
        return read_file(root / recording.files[0][0], channels)

    def scoring(
        self, root: Path, recording: FoundRecording, *, duration_s: float, truncated: bool
    ) -> Scoring | None:
        """Return what ``events.csv``, a scoring next to the file, or its own annotations say."""
        from preprocessing.scoring import fit_scoring, to_scoring

        draft = _scoring_draft(root, recording)
        if draft is None:
            return None
        return to_scoring(fit_scoring(draft, duration_s, truncated=truncated))

    def table_files(self, root: Path) -> list[Path]:
        """Return the tables of subjects and of events where they are there."""
        table, events = self._table_file(root), root / EVENTS_NAME
        return [path for path in (table, events) if path is not None and path.is_file()]

    def tables(self, root: Path) -> CohortTables:
        """Return sex and age by file."""
        table = self._subjects(root, _paths(root))
        facts = {path: Facts(line.sex, line.age) for path, line in table.lines.items()}
        found, unmatched = _count_scorings(root)
        warnings = (*table.warnings, *_event_warnings(root), *unmatched)
        return CohortTables(facts, warnings=warnings, understood=(*table.understood, *found))

    def subject_columns(self, root: Path) -> list[str]:
        """Return the columns of ``subjects.csv`` besides those that every such table has."""
        path = self._table_file(root)
        names = column_names(path) if path else []
        return [name for name in names if name not in (*COLUMNS, *SYNONYMS)]

    def subject_values(
        self, root: Path, columns: tuple[str, ...]
    ) -> tuple[SubjectValues, list[str]]:
        """Return values by subject and visit."""
        path = self._table_file(root)
        wanted = tuple(name for name in columns if name not in (*COLUMNS, *SYNONYMS))
        if path is None:
            return {}, []
        recordings = _paths(root)
        rows, warnings = read_values(
            path, wanted, ("file",), synonyms=SYNONYMS, last_resorts=LAST_RESORTS
        )
        names, lines = FileNames(recordings), self._subjects(root, recordings).lines
        keyed = []
        for row in rows:
            file = names.find(row.get("file", ""))
            if file is not None:
                values = {name: value for name, value in row.items() if name in wanted}
                keyed.append((_subject_visit(file, lines[file]), values))
        return merge_values(keyed), warnings

    def visit_names(self, root: Path) -> dict[SubjectVisit, str]:
        """Return what visits are called in the table, where that is more than a number."""
        lines = self._subjects(root, _paths(root)).lines
        return {
            _subject_visit(path, line): line.visit_name
            for path, line in lines.items()
            if line.visit_name
        }

    def _table_file(self, root: Path) -> Path | None:
        return self._table or find_table(root)

    def _subjects(self, root: Path, recordings: list[str]) -> SubjectTable:
        path = self._table_file(root)
        if path is None:
            return SubjectTable(
                warnings=[f"no {TABLE_NAMES[0]}: every file counts as a separate subject"]
            )
        return read_subject_table(path, recordings)


def _subject_visit(path: str, line: SubjectLine) -> SubjectVisit:
    return line.subject or own_subject(path), line.visit or 1


def _paths(root: Path) -> list[str]:
    return [path for path, _ in _files(root, "")]


def own_subject(path: str) -> str:
    """Return the subject of a file that no table names: the file itself."""
    return str(PurePosixPath(path).with_suffix(""))


def _event_warnings(root: Path) -> list[str]:
    """Return warnings on the table of events: what it lacks, and files that are not here."""
    from preprocessing.formats.scoring_xml import read_epoch_table

    if not (root / EVENTS_NAME).is_file():
        return []
    drafts, warnings = read_epoch_table(root / EVENTS_NAME)
    names = FileNames(_paths(root))
    n_meant = [len(names.meant(text, anywhere=False)) for text in drafts]
    # Not quoted: where columns are out of place, they may be names of people.
    if unknown := n_meant.count(0):
        are = "name is no file" if unknown == 1 else "names are no files"
        warnings = [*warnings, f"{EVENTS_NAME}: {unknown:,} {are} here"]
    if ambiguous := sum(n > 1 for n in n_meant):
        mean = "name means" if ambiguous == 1 else "names mean"
        warnings = [
            *warnings,
            f"{EVENTS_NAME}: {ambiguous:,} {mean} more than one file: not used; write the path "
            "with its ending",
        ]
    return warnings


def _count_scorings(root: Path) -> tuple[list[str], list[str]]:
    """Return how many recordings have a scoring next to them, and which scorings have none."""
    from preprocessing.user_folder.scorings import looks_like_scoring

    n_scored, unmatched = 0, 0
    folders = {str(PurePosixPath(path).parent) for path, _ in _files(root, "")}
    for folder in folders:
        names = list_files(root / folder)
        matched, others = match_scorings(_recordings(names), names)
        n_scored += len(matched)
        unmatched += sum(looks_like_scoring(root / folder / name) for name in others)
    found = [f"{n_scored:,} recordings have a scoring next to them"] if n_scored else []
    if not unmatched:
        return found, []
    what = "1 file looks" if unmatched == 1 else f"{unmatched:,} files look"
    return found, [
        f"{what} like a scoring, and no recording has that name: name it after its recording, such "
        "as night.xml next to night.edf"
    ]


def _scoring_draft(root: Path, recording: FoundRecording) -> ScoringDraft | None:
    from preprocessing.formats.edf import read_edf_annotations
    from preprocessing.formats.scoring_xml import read_epoch_table
    from preprocessing.scoring import joined_drafts

    path = recording.files[0][0]
    scorings = [file for file, role in recording.files if role is SourceRole.SCORING]
    if EVENTS_NAME in scorings:
        drafts, _ = read_epoch_table(root / EVENTS_NAME)
        stem = unicodedata.normalize("NFC", PurePosixPath(path).stem).lower()
        folder = str(PurePosixPath(path).parent)
        names = _names_in(root, folder, (root / folder).stat().st_mtime_ns)
        of_this = [
            draft
            for text, draft in drafts.items()
            if stem in unicodedata.normalize("NFC", text).lower()
            and names.meant(text, anywhere=False) == [path]
        ]
        if of_this:
            return joined_drafts(of_this)
    is_edf = path.lower().endswith((".edf", ".bdf"))
    own = read_edf_annotations(root / path) if is_edf else None
    paths = [root / file for file in scorings if file != EVENTS_NAME]
    if not paths:
        return own
    from preprocessing.user_folder.scorings import read_first_scoring

    draft = read_first_scoring(paths, root / path if is_edf else None)
    return joined_drafts([draft, own]) if draft.is_empty() and own else draft


@lru_cache(maxsize=8)  # a worker asks for one file after the other; a new file changes the time
def _names_in(root: Path, folder: str, _: int) -> FileNames:
    """Return the recordings in one folder by their names."""
    prefix = "" if folder == "." else f"{folder}/"
    return FileNames(prefix + name for name in _recordings(list_files(root / folder)))


def read_file(path: Path, channels: tuple[str, ...]) -> RawRecording:
    """Return the ECG lead of one file with the reader of its format, which its suffix names."""
    match path.suffix.lower():
        case ".edf" | ".bdf":
            from preprocessing.formats.edf import read_edf_lead

            return read_edf_lead(path, channels)
        case ".hea":
            return _read_wfdb(path, channels)
        case _:
            from preprocessing.formats.mne_formats import read_mne_lead

            return read_mne_lead(path, channels)


def _files(root: Path, folder: str) -> Iterator[tuple[str, tuple[tuple[str, SourceRole], ...]]]:
    prefix = f"{folder}/" if folder else ""
    headers = {files[0][0]: files for _, files in wfdb_records(root, folder)}
    segments = {prefix + name for path in headers for name in _segment_names(root / path)}
    names = list_files(root / folder)
    matched, _ = match_scorings(_recordings(names), names)
    used = {name for found in matched.values() for name in found}
    for name in names:
        path = prefix + name
        if path in segments or name in used:
            continue  # part of a record that is read as one, or a scoring
        scorings = tuple((prefix + n, SourceRole.SCORING) for n in matched.get(name, ()))
        if path in headers:
            yield path, (*headers[path], *scorings)
        elif name.lower().endswith(_SUFFIXES):
            yield path, ((path, SourceRole.SIGNAL), *_brainvision_files(root, path), *scorings)
    for sub in list_folders(root / folder):
        yield from _files(root, prefix + sub)


def _recordings(names: list[str]) -> list[str]:
    return [name for name in names if name.lower().endswith(RECORDING_SUFFIXES)]


def _segment_names(header: Path) -> Iterator[str]:
    """Yield the names of the headers that are segments of a record."""
    from preprocessing.formats.wfdb_record import segment_headers

    with suppress(OSError, UnreadableRecordingError):  # reading it will say so
        yield from (path.name for path in segment_headers(header))


def _brainvision_files(root: Path, path: str) -> Iterator[tuple[str, SourceRole]]:
    from preprocessing.formats.mne_formats import named_files

    if not path.lower().endswith(".vhdr"):
        return
    try:
        names = named_files(root / path)
    except (OSError, UnreadableRecordingError):  # reading it will say so
        return
    for key, name in names.items():
        companion = str(PurePosixPath(path).parent / name)
        if is_file(root / companion):
            yield companion, SourceRole.SIGNAL if key == "DataFile" else SourceRole.ANNOTATION


def _read_wfdb(path: Path, channels: tuple[str, ...]) -> RawRecording:
    from preprocessing.formats.wfdb_header import file_beside
    from preprocessing.formats.wfdb_record import read_wfdb_lead

    raw = read_wfdb_lead(path, channels)
    return with_rhythms(raw, path) if file_beside(path, f"{path.stem}.atr").exists() else raw


register(Folder())
