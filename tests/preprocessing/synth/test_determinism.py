"""The same settings give the same bytes, and a larger cohort keeps the smaller one's files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth import write_cohort
from preprocessing.synth.recording import even_draw, rng_for

SMALL = SynthSettings(
    shhs_subjects=2,
    shhs_hours=0.01,
    mitdb_records=2,
    mitdb_minutes=0.5,
    afdb_records=1,
    afdb_hours=0.01,
    challenge2017_records=4,
    afpdb_subjects=1,
    ecgiddb_people=2,
    cpsc2021_people=2,
    cpsc2021_minutes=0.5,
)
LARGER = SMALL.model_copy(
    update={
        "shhs_subjects": 3,
        "mitdb_records": 3,
        "afdb_records": 2,
        "challenge2017_records": 8,
        "afpdb_subjects": 2,
        "ecgiddb_people": 3,
        "cpsc2021_people": 3,
    }
)
TABLES = {"RECORDS", "REFERENCE-v3.csv"}


def digests(root: Path) -> dict[str, str]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def test_the_same_settings_give_the_same_bytes_with_any_workers(tmp_path: Path) -> None:
    write_cohort(tmp_path / "one", SMALL)
    write_cohort(tmp_path / "two", SMALL, workers=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_a_larger_cohort_keeps_every_recording(tmp_path: Path) -> None:
    write_cohort(tmp_path / "small", SMALL)
    write_cohort(tmp_path / "larger", LARGER)
    small, larger = digests(tmp_path / "small"), digests(tmp_path / "larger")
    kept = {p: d for p, d in small.items() if Path(p).name not in TABLES and "datasets/" not in p}
    assert kept.items() <= larger.items()
    assert len(larger) > len(small)


def test_another_seed_gives_other_signals(tmp_path: Path) -> None:
    only = {"shhs_subjects": 0, "mitdb_records": 0, "afdb_records": 0, "afpdb_subjects": 0}
    few = SMALL.model_copy(update=only)
    write_cohort(tmp_path / "one", few)
    write_cohort(tmp_path / "two", few.model_copy(update={"seed": 7}))
    one, two = (digests(tmp_path / name) for name in ("one", "two"))
    assert not any(one[path] == two.get(path) for path in one if path.endswith((".mat", ".dat")))


def test_a_generator_depends_on_all_its_names() -> None:
    draws = {rng_for(*key).random() for key in ((1, "a", "b"), (1, "a", "c"), (2, "a", "b"))}
    assert len(draws) == 3
    assert rng_for(1, "a", "b").random() == rng_for(1, "a", "b").random()


def test_even_draws_fill_each_tenth_of_the_range() -> None:
    tenths = [int(10 * even_draw(index)) for index in range(50)]
    assert all(4 <= tenths.count(tenth) <= 6 for tenth in range(10))
