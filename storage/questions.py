"""The questions that researchers ask first, as SQL that can be copied and changed."""

from __future__ import annotations

from storage.errors import DeapsError

QUESTIONS: dict[str, str] = {
    "quality": "FROM quality_by_dataset",
    "subject": (
        'SELECT r.dataset, r.name, r.visit, w."row", w.start_s, w.quality, w.rhythm, w.hr_max\n'
        "FROM windows w JOIN recordings r USING (recording_id)\n"
        'WHERE r.subject = $subject ORDER BY r.visit, r.name, w."row"'
    ),
    "cross-visit": "FROM cross_visit_subjects",
    "quarantined": (
        "SELECT dataset, kind, count(*) AS n_recordings\n"
        "FROM quarantined GROUP BY ALL ORDER BY n_recordings DESC, dataset, kind"
    ),
    "rhythm": "FROM rhythm_by_dataset",
}
"""Counts by data set and quality; one subject's windows; usable subjects with several visits;
what is quarantined and why; windows by rhythm."""


def question(name: str) -> str:
    """Return the SQL of a named question."""
    if name not in QUESTIONS:
        raise DeapsError(f"no question {name!r}; there are {', '.join(QUESTIONS)}")
    return QUESTIONS[name]
