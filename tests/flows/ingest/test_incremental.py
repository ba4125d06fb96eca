"""Running again redoes just what changed, and says why."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

import flows.ingest.recording as recording_module
from flows.config import Settings
from flows.ingest.recording import preprocess_chunk
from flows.ingest.scan import Why, scan
from storage.schema import RecordingRow
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, one, publish_results, run, settings_for, todo
from tests.wfdb_files import write_record

OLD = time.time() - 3600


def rest(root: Path) -> None:
    """Make every file look as if it had been written an hour ago."""
    for path in root.rglob("*"):
        os.utime(path, (OLD, OLD))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "shhs"
    for visit, subject in ((1, 200001), (2, 200001), (1, 200002)):
        path = root / f"polysomnography/edfs/shhs{visit}/shhs{visit}-{subject}.edf"
        write_edf(path, {"ECG": beats(25, seed=10 * visit + subject)})
    (root / "datasets").mkdir()
    (root / "datasets/shhs1-dataset-0.20.0.csv").write_text("nsrrid,gender,age_s1\n200001,1,60\n")
    (root / "datasets/shhs2-dataset-0.20.0.csv").write_text("nsrrid,gender,age_s2\n200001,1,65\n")
    write_record(tmp_path / "mitdb", "100", {"MLII": beats(35, 360)}, rhythms={0: "N"})
    rest(tmp_path)
    return tmp_path


@pytest.fixture
def settings(data: Path) -> Settings:
    return settings_for(data / "store", shhs=data / "shhs", mitdb=data / "mitdb")


def window_files(settings: Settings) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in settings.store.root.rglob("*.parquet")}


def test_first_run_does_everything_and_the_second_nothing(settings: Settings) -> None:
    assert set(todo(settings).values()) == {Why.NEW}
    first = run(settings)
    assert (first.n_recordings, first.n_windows) == (4, 9)
    assert scan(settings).nothing_to_do
    assert run(settings).rebuilt is False


def test_changed_file_is_redone_alone(settings: Settings, data: Path) -> None:
    run(settings)
    before = window_files(settings)
    path = data / "shhs/polysomnography/edfs/shhs1/shhs1-200002.edf"
    write_edf(path, {"ECG": beats(31, seed=9)})
    assert todo(settings) == {"shhs1-200002": Why.CHANGED}
    run(settings)
    after = window_files(settings)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1
    assert one(settings, "SELECT n_windows FROM recordings WHERE name = 'shhs1-200002'") == 3


def test_touched_file_with_equal_content_is_hashed_and_kept(settings: Settings, data: Path) -> None:
    first = run(settings)
    before = window_files(settings)
    os.utime(data / "mitdb/100.dat", (OLD + 60, OLD + 60))
    assert todo(settings) == {"100": Why.CHANGED}
    assert run(settings).snapshot_id == first.snapshot_id
    assert window_files(settings) == before
    assert scan(settings).nothing_to_do


def test_annotation_file_belongs_to_the_recording(settings: Settings, data: Path) -> None:
    run(settings)
    write_record(data / "mitdb", "100", {"MLII": beats(35, 360)}, rhythms={0: "AFIB"})
    assert todo(settings) == {"100": Why.CHANGED}
    run(settings)
    assert ask(settings, "SELECT DISTINCT rhythm FROM windows WHERE rhythm IS NOT NULL") == [
        ("AFIB",)
    ]


def test_added_and_removed_files(settings: Settings, data: Path) -> None:
    run(settings)
    folder = data / "shhs/polysomnography/edfs/shhs2"
    write_edf(folder / "shhs2-200002.edf", {"ECG": beats(25, seed=5)})
    (folder / "shhs2-200001.edf").unlink()
    shhs = scan(settings).datasets[0]
    assert shhs.todo == {"shhs2-200002": Why.NEW}
    assert shhs.removed == ("shhs2-200001",)
    run(settings)
    names = ask(settings, "SELECT name FROM recordings WHERE dataset = 'shhs' ORDER BY name")
    assert names == [("shhs1-200001",), ("shhs1-200002",), ("shhs2-200002",)]


def test_ids_stay_when_recordings_come_and_go(settings: Settings, data: Path) -> None:
    run(settings)
    ids = dict(ask(settings, "SELECT name, recording_id FROM recordings"))
    folder = data / "shhs/polysomnography/edfs/shhs1"
    (folder / "shhs1-200001.edf").unlink()
    write_edf(folder / "shhs1-100000.edf", {"ECG": beats(25, seed=6)})
    run(settings)
    later = dict(ask(settings, "SELECT name, recording_id FROM recordings"))
    assert later["shhs1-100000"] not in ids.values()
    assert {n: i for n, i in later.items() if n in ids} == {
        n: i for n, i in ids.items() if n != "shhs1-200001"
    }


def test_changed_quality_setting_redoes_everything(settings: Settings, data: Path) -> None:
    run(settings)
    changed = settings_for(
        data / "store", "quality.flat_s=3.0", shhs=data / "shhs", mitdb=data / "mitdb"
    )
    assert set(todo(changed).values()) == {Why.SETTINGS}
    assert len(todo(changed)) == 4


def test_changed_aliases_redo_only_sets_that_read_them(data: Path, settings: Settings) -> None:
    run(settings)
    changed = settings_for(
        data / "store", 'signal.channels=["ECG"]', shhs=data / "shhs", mitdb=data / "mitdb"
    )
    assert set(todo(changed)) == {"shhs1-200001", "shhs1-200002", "shhs2-200001"}


def test_going_back_to_old_settings_recomputes_nothing(settings: Settings, data: Path) -> None:
    first = run(settings)
    changed = settings_for(
        data / "store", "quality.flat_s=3.0", shhs=data / "shhs", mitdb=data / "mitdb"
    )
    run(changed)
    before = window_files(settings)
    assert run(settings).snapshot_id == first.snapshot_id
    assert window_files(settings) == before


@pytest.mark.parametrize("choice", ["dataset", "window"])
def test_changed_normalisation_redoes_nothing(settings: Settings, data: Path, choice: str) -> None:
    run(settings)
    changed = settings_for(
        data / "store", f"store.normalise={choice}", shhs=data / "shhs", mitdb=data / "mitdb"
    )
    assert scan(changed).nothing_to_do


def test_new_cohort_table_joins_facts_without_redoing_signals(
    settings: Settings, data: Path
) -> None:
    run(settings)
    before = window_files(settings)
    table = data / "shhs/datasets/shhs1-dataset-0.20.0.csv"
    table.write_text("nsrrid,gender,age_s1\n200001,2,61\n200002,2,50\n")
    assert todo(settings) == {}
    assert not scan(settings).nothing_to_do
    run(settings)
    facts = ask(settings, "SELECT name, sex, age FROM recordings WHERE visit = 1 AND age > 0")
    assert facts == [("shhs1-200001", "female", 61), ("shhs1-200002", "female", 50)]
    assert window_files(settings) == before


def test_lost_window_file_is_made_again(settings: Settings) -> None:
    run(settings)
    lost = next(settings.store.root.rglob("windows/mitdb/**/*.parquet"))
    lost.unlink()
    assert todo(settings) == {"100": Why.LOST}
    run(settings)
    assert lost.exists()


def test_damaged_window_file_is_not_trusted_again(settings: Settings) -> None:
    run(settings)
    (settings.store.root / "index.duckdb").unlink()
    file = next(settings.store.root.rglob("windows/mitdb/**/*.parquet"))
    whole = file.read_bytes()
    file.write_bytes(whole[:3000] + bytes([whole[3000] ^ 1]) + whole[3001:])
    run(settings)
    assert file.read_bytes() == whole


@pytest.mark.parametrize("field", [b'"std_mv":0.', b'"fs":3'])
def test_window_file_whose_row_was_changed_is_not_trusted_again(
    settings: Settings, field: bytes
) -> None:
    """Parquet keeps the row where no checksum of a page covers it."""
    run(settings)
    (settings.store.root / "index.duckdb").unlink()
    file = next(settings.store.root.rglob("windows/mitdb/**/*.parquet"))
    whole = file.read_bytes()
    at = whole.index(field) + len(field)
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    run(settings)
    assert file.read_bytes() == whole


def test_lost_index_is_rebuilt_from_the_window_files(settings: Settings) -> None:
    first = run(settings)
    before = window_files(settings)
    (settings.store.root / "index.duckdb").unlink()
    assert run(settings).snapshot_id == first.snapshot_id
    assert window_files(settings) == before


def test_missing_root_keeps_what_is_published(settings: Settings, data: Path) -> None:
    run(settings)
    shutil.move(data / "shhs", data / "elsewhere")
    assert scan(settings).datasets[0].problem == f"no folder at {data / 'shhs'}"
    run(settings)
    assert one(settings, "SELECT count(*) FROM recordings WHERE dataset = 'shhs'") == 3


def test_empty_root_keeps_what_is_published(settings: Settings, data: Path) -> None:
    run(settings)
    shutil.rmtree(data / "shhs/polysomnography")
    run(settings)
    assert one(settings, "SELECT count(*) FROM recordings WHERE dataset = 'shhs'") == 3


def test_data_sets_that_are_not_configured_stay(settings: Settings, data: Path) -> None:
    run(settings)
    run(settings_for(data / "store", mitdb=data / "mitdb"))
    assert one(settings, "SELECT count(DISTINCT dataset) FROM recordings") == 2


def test_file_written_while_it_was_hashed_is_looked_at_again(
    settings: Settings, data: Path
) -> None:
    now = time.time()
    os.utime(data / "mitdb/100.dat", (now, now))
    run(settings)
    assert todo(settings) == {"100": Why.CHANGED}


def test_windows_of_other_content_are_not_kept_under_a_hash(
    settings: Settings, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = data / "shhs/polysomnography/edfs/shhs1/shhs1-200002.edf"
    content, digest = path.read_bytes(), recording_module._digest

    def change_after_hashing(row: RecordingRow) -> str:
        if row.name == "shhs1-200002":
            write_edf(path, {"ECG": beats(31, seed=9)})
        return digest(row)

    monkeypatch.setattr(recording_module, "_digest", change_after_hashing)
    run(settings)
    asked = "SELECT reason FROM recordings WHERE name = 'shhs1-200002'"
    assert one(settings, asked) == "changed while it was read; run deaps preprocess again"
    monkeypatch.undo()
    path.write_bytes(content)
    run(settings)
    assert one(settings, "SELECT n_windows FROM recordings WHERE name = 'shhs1-200002'") == 2


def test_after_the_clock_was_set_back_a_change_is_still_seen(
    settings: Settings, data: Path
) -> None:
    run(settings)
    path = data / "mitdb/100.dat"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    os.utime(path, (OLD - 86400, OLD - 86400))  # long before the last look
    before = one(settings, "SELECT digest FROM recordings WHERE name = '100'")
    assert todo(settings) == {"100": Why.CHANGED}
    run(settings)
    assert one(settings, "SELECT digest FROM recordings WHERE name = '100'") != before


def test_files_from_the_future_are_hashed_and_not_redone(settings: Settings, data: Path) -> None:
    """After the clock was set back, files seem to have been written tomorrow."""
    tomorrow = time.time() + 86400
    os.utime(data / "mitdb/100.dat", (tomorrow, tomorrow))
    first = run(settings)
    before = window_files(settings)
    assert todo(settings) == {"100": Why.CHANGED}
    assert run(settings).snapshot_id == first.snapshot_id
    assert window_files(settings) == before


def test_verify_looks_at_every_recording_and_redoes_none(settings: Settings) -> None:
    first = run(settings)
    found = scan(settings, verify=True)
    assert {why for d in found.datasets for why in d.todo.values()} == {Why.VERIFY}
    assert sum(len(d.todo) for d in found.datasets) == 4
    results = [preprocess_chunk(job, [recording]) for job, recording in found.todo()]
    assert publish_results(found, results, settings).snapshot_id == first.snapshot_id
