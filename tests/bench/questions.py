"""Questions in SQL that people ask first, by name."""

from __future__ import annotations

QUESTIONS = {
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
    "n3": (
        "SELECT dataset, subject, count(*) AS n_nights, sum(n3_min) AS n3_min\n"
        "FROM stage_by_recording GROUP BY ALL ORDER BY n3_min DESC, dataset, subject"
    ),
    "rem": (
        "SELECT r.dataset, r.visit, count(*) AS n_windows,\n"
        "       count(DISTINCT r.subject) AS n_subjects\n"
        "FROM windows w JOIN recordings r USING (recording_id)\n"
        "WHERE w.stage = 'REM' AND w.quality <> 'Unacceptable'\n"
        "GROUP BY ALL ORDER BY r.dataset, r.visit"
    ),
    "after-apnea": (
        "WITH after AS (\n"
        '    SELECT recording_id, unnest(range(last_row + 1, last_row + 4)) AS "row"\n'
        "    FROM events WHERE kind IN ('obstructive_apnea', 'central_apnea', 'mixed_apnea')\n"
        ")\n"
        "SELECT stage, count(*) AS n_windows, avg(hr_mean) AS hr_mean\n"
        'FROM windows SEMI JOIN after USING (recording_id, "row")\n'
        "GROUP BY stage ORDER BY stage"
    ),
    "grades": (
        "SELECT dataset, visit, grade, count(*) AS n_recordings,\n"
        "       avg(unacceptable_share) AS unacceptable_share\n"
        "FROM quality_grades GROUP BY ALL ORDER BY dataset, visit, grade"
    ),
}
"""What researchers ask first, as SQL to copy and change: windows by data set and quality; the
windows of one subject; subjects with usable windows in several visits; what is quarantined, by
kind of reason; windows by rhythm; minutes of N3 by subject; usable REM windows by visit; windows
of the half minute after an apnea; Unacceptable windows by the technicians' grade."""
