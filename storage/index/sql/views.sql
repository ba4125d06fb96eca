-- Answers to first questions. Counts come from window_counts, which has one row for each
-- recording, quality and rhythm.

CREATE VIEW usable_windows AS
SELECT w.*, r.dataset, r.name, r.subject, r.visit, r.sex, r.age, r.label, r.split
FROM windows w JOIN recordings r USING (recording_id)
WHERE w.quality <> 'Unacceptable' AND r.status = 'ok';

CREATE VIEW cross_visit_subjects AS
SELECT r.dataset, r.subject,
       count(DISTINCT r.visit) AS n_visits,
       count(DISTINCT r.recording_id) AS n_recordings,
       sum(c.n_windows)::BIGINT AS n_windows
FROM window_counts c JOIN recordings r USING (recording_id)
WHERE c.quality <> 'Unacceptable' AND r.status = 'ok'
GROUP BY r.dataset, r.subject
HAVING count(DISTINCT r.visit) >= 2
ORDER BY r.dataset, r.subject;

CREATE VIEW quality_by_dataset AS
SELECT r.dataset, c.quality,
       sum(c.n_windows)::BIGINT AS n_windows,
       count(DISTINCT r.recording_id) AS n_recordings,
       sum(c.n_windows) / sum(sum(c.n_windows)) OVER (PARTITION BY r.dataset) AS share
FROM window_counts c JOIN recordings r USING (recording_id)
GROUP BY r.dataset, c.quality
ORDER BY r.dataset, c.quality;

CREATE VIEW quarantined AS
SELECT dataset, name, subject, visit,
       CASE WHEN starts_with(reason, 'duplicate of ') THEN 'duplicate'
            ELSE split_part(reason, ':', 1) END AS kind,
       reason
FROM recordings WHERE status = 'quarantined'
ORDER BY dataset, name;

CREATE VIEW rhythm_by_dataset AS
SELECT r.dataset, c.rhythm,
       sum(c.n_windows)::BIGINT AS n_windows,
       count(DISTINCT r.recording_id) AS n_recordings
FROM window_counts c JOIN recordings r USING (recording_id)
WHERE c.rhythm IS NOT NULL
GROUP BY r.dataset, c.rhythm
ORDER BY r.dataset, c.rhythm;
