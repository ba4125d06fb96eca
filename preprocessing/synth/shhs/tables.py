"""The tables of the synthetic SHHS, in windows-1252 as NSRR ships them."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth.seeding import rng_for
from preprocessing.synth.shhs import subjects as people
from preprocessing.synth.shhs.subjects import Visit
from storage.schema import BREATHING_EVENTS, Sex

VERSION = "0.20.0"
YEARS_BETWEEN_VISITS = 5
OLDEST_SHOWN = 90
NOTES = ("", "", "café au lait before bed", "naïve sleeper", "")
"""Free text; its accents are single bytes in windows-1252 and break a reader that takes UTF-8."""


def _gender(seed: int, nsrrid: int) -> str:
    if not people.sex_is_known(nsrrid):
        return ""
    return "1" if people.subject_of(seed, nsrrid).sex is Sex.MALE else "2"


def _age(seed: int, visit: Visit) -> int:
    age = int(people.subject_of(seed, visit.nsrrid).age)
    return min(OLDEST_SHOWN, age + YEARS_BETWEEN_VISITS * (visit.number - 1))


def _body_mass(seed: int, visit: Visit) -> str:
    rng = rng_for(seed, "shhs", str(visit.nsrrid), "bmi")
    return f"{rng.normal(28.0, 4.0) + 0.5 * (visit.number - 1):.2f}"


def _apnea_index(settings: SynthSettings, visit: Visit) -> str:
    """Return the apneas and hypopneas for each hour of sleep that the night's scoring has."""
    night = people.sleep_of(settings, visit)
    events = sum(event.kind in BREATHING_EVENTS for event in night.events)
    return f"{3600.0 * events / night.sleep_s:.2f}" if night.sleep_s else ""


def visit_row(settings: SynthSettings, visit: Visit) -> dict[str, object]:
    """Return a subject's row in the table of one visit; without a file there is no grade."""
    seed = settings.seed
    grade_name = "hrqual" if visit.number == 1 else "quhr"
    has_file = visit.number == 1 or people.has_second_edf(visit.nsrrid)
    return {
        "nsrrid": visit.nsrrid,
        "pptid": visit.nsrrid - people.FIRST_ID + 1,
        f"age_s{visit.number}": _age(seed, visit),
        "gender": _gender(seed, visit.nsrrid),
        f"bmi_s{visit.number}": _body_mass(seed, visit),
        "ahi_a0h3a": _apnea_index(settings, visit) if has_file else "",
        grade_name: people.quality_grade(seed, visit) if has_file else "",
        "comment": NOTES[visit.nsrrid % len(NOTES)],
    }


def harmonised_row(seed: int, visit: Visit) -> dict[str, object]:
    """Return a subject's row in the table that NSRR makes alike for all its cohorts."""
    sex = people.subject_of(seed, visit.nsrrid).sex.value
    return {
        "nsrrid": visit.nsrrid,
        "visitnumber": visit.number,
        "nsrr_age": _age(seed, visit),
        "nsrr_sex": sex if people.sex_is_known(visit.nsrrid) else "not reported",
        "nsrr_bmi": _body_mass(seed, visit),
    }


def _write_csv(path: Path, rows: Iterable[dict[str, object]]) -> None:
    rows = list(rows)
    with path.open("w", encoding="windows-1252", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_tables(root: Path, settings: SynthSettings) -> None:
    """Write the two visits' tables and the harmonised one into ``datasets/``."""
    folder, seed = root / "datasets", settings.seed
    folder.mkdir(parents=True, exist_ok=True)
    first = [Visit(nsrrid, 1) for nsrrid in people.ids(settings)]
    second = [Visit(v.nsrrid, 2) for v in first if people.has_second_row(v.nsrrid)]
    for number, visits in ((1, first), (2, second)):
        rows = [visit_row(settings, visit) for visit in visits]
        if rows:
            _write_csv(folder / f"shhs{number}-dataset-{VERSION}.csv", rows)
    both = [harmonised_row(seed, visit) for visit in (*first, *second)]
    _write_csv(folder / f"shhs-harmonized-dataset-{VERSION}.csv", both)
