-- Answers to first questions. Counts come from window_counts, which has one row for each
-- recording, quality and rhythm.

-- usable_windows: Windows that are not Unacceptable, with subject, visit and variables.
CREATE VIEW usable_windows AS
SELECT w.*, r.dataset, r.name, r.subject, r.visit, r.sex, r.age, r.label, r.split,
       s.* EXCLUDE (dataset, subject, visit)
FROM windows w JOIN recordings r USING (recording_id)
LEFT JOIN subjects s ON s.dataset = r.dataset AND s.subject = r.subject AND s.visit = r.visit
WHERE w.quality <> 'Unacceptable' AND r.status = 'ok';

-- cross_visit_subjects: Subjects with usable windows in two or more visits.
--   n_visits: Number of visits.
--   n_recordings: Number of recordings.
--   n_windows: Number of usable windows.
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

-- quality_by_dataset: Windows of each data set by quality.
--   n_windows: Number of windows.
--   n_recordings: Number of recordings.
--   share: Share of the data set's windows.
CREATE VIEW quality_by_dataset AS
SELECT r.dataset, c.quality,
       sum(c.n_windows)::BIGINT AS n_windows,
       count(DISTINCT r.recording_id) AS n_recordings,
       sum(c.n_windows) / sum(sum(c.n_windows)) OVER (PARTITION BY r.dataset) AS share
FROM window_counts c JOIN recordings r USING (recording_id)
GROUP BY r.dataset, c.quality
ORDER BY r.dataset, c.quality;

-- quarantined: Recordings that were set aside, and why.
--   kind: Kind of reason: its first words.
CREATE VIEW quarantined AS
SELECT dataset, name, subject, visit,
       CASE WHEN starts_with(reason, 'duplicate of ') THEN 'duplicate'
            ELSE split_part(reason, ':', 1) END AS kind,
       reason
FROM recordings WHERE status = 'quarantined'
ORDER BY dataset, name;

-- rhythm_by_dataset: Windows of each data set by rhythm.
--   n_windows: Number of windows.
--   n_recordings: Number of recordings.
CREATE VIEW rhythm_by_dataset AS
SELECT r.dataset, c.rhythm,
       sum(c.n_windows)::BIGINT AS n_windows,
       count(DISTINCT r.recording_id) AS n_recordings
FROM window_counts c JOIN recordings r USING (recording_id)
WHERE c.rhythm IS NOT NULL
GROUP BY r.dataset, c.rhythm
ORDER BY r.dataset, c.rhythm;

-- stage_by_recording: Minutes of each sleep stage, efficiency and latency of each night.
--   wake_min: Minutes awake.
--   n1_min: Minutes of N1.
--   n2_min: Minutes of N2.
--   n3_min: Minutes of N3.
--   rem_min: Minutes of REM sleep.
--   movement_min: Minutes that were scored as movement.
--   unscored_min: Minutes that were marked as not scored.
--   sleep_min: Minutes asleep: N1, N2, N3 and REM.
--   efficiency: Share of the scored time that was slept.
--   latency_min: Minutes from the first scored epoch to the first sleep.
CREATE VIEW stage_by_recording AS
WITH spans AS (
    SELECT recording_id,
           sum(duration_s) FILTER (stage = 'W') / 60 AS wake_min,
           sum(duration_s) FILTER (stage = 'N1') / 60 AS n1_min,
           sum(duration_s) FILTER (stage = 'N2') / 60 AS n2_min,
           sum(duration_s) FILTER (stage = 'N3') / 60 AS n3_min,
           sum(duration_s) FILTER (stage = 'REM') / 60 AS rem_min,
           sum(duration_s) FILTER (stage = 'movement') / 60 AS movement_min,
           sum(duration_s) FILTER (stage = 'unscored') / 60 AS unscored_min,
           sum(duration_s) FILTER (stage IN ('N1', 'N2', 'N3', 'REM')) / 60 AS sleep_min,
           sum(duration_s) FILTER (stage <> 'unscored') / 60 AS scored_min,
           min(start_s) FILTER (stage <> 'unscored') / 60 AS first_min,
           min(start_s) FILTER (stage IN ('N1', 'N2', 'N3', 'REM')) / 60 AS asleep_min
    FROM stages GROUP BY recording_id
)
SELECT recording_id, r.dataset, r.name, r.subject, r.visit, r.sex, r.age,
       coalesce(wake_min, 0) AS wake_min, coalesce(n1_min, 0) AS n1_min,
       coalesce(n2_min, 0) AS n2_min, coalesce(n3_min, 0) AS n3_min,
       coalesce(rem_min, 0) AS rem_min, coalesce(movement_min, 0) AS movement_min,
       coalesce(unscored_min, 0) AS unscored_min, coalesce(sleep_min, 0) AS sleep_min,
       coalesce(sleep_min, 0) / scored_min AS efficiency,   -- of the scored time
       asleep_min - first_min AS latency_min,               -- from the first scored epoch
       s.* EXCLUDE (dataset, subject, visit)
FROM spans JOIN recordings r USING (recording_id)
LEFT JOIN subjects s ON s.dataset = r.dataset AND s.subject = r.subject AND s.visit = r.visit
WHERE r.status = 'ok'
ORDER BY r.dataset, r.name;

-- events_by_recording: Events of scored recordings by kind, and the apnea-hypopnea index.
--   n_arousals: Number of arousals.
--   n_obstructive_apneas: Number of obstructive apneas.
--   n_central_apneas: Number of central apneas.
--   n_mixed_apneas: Number of mixed apneas.
--   n_hypopneas: Number of hypopneas, whatever the desaturation.
--   n_desaturations: Number of desaturations.
--   ahi: Apneas and hypopneas for each hour of scored sleep.
--   arousals_per_hour: Arousals for each hour of scored sleep.
CREATE VIEW events_by_recording AS
WITH counted AS (
    SELECT recording_id,
           count(*) FILTER (kind = 'arousal') AS n_arousals,
           count(*) FILTER (kind = 'obstructive_apnea') AS n_obstructive_apneas,
           count(*) FILTER (kind = 'central_apnea') AS n_central_apneas,
           count(*) FILTER (kind = 'mixed_apnea') AS n_mixed_apneas,
           count(*) FILTER (kind = 'hypopnea') AS n_hypopneas,
           count(*) FILTER (kind = 'desaturation') AS n_desaturations
    FROM events GROUP BY recording_id
)
SELECT s.recording_id, s.dataset, s.name, s.subject, s.visit, s.sex, s.age,
       coalesce(n_arousals, 0) AS n_arousals,
       coalesce(n_obstructive_apneas, 0) AS n_obstructive_apneas,
       coalesce(n_central_apneas, 0) AS n_central_apneas,
       coalesce(n_mixed_apneas, 0) AS n_mixed_apneas,
       coalesce(n_hypopneas, 0) AS n_hypopneas,
       coalesce(n_desaturations, 0) AS n_desaturations,
       -- Every scored event counts, whatever the desaturation, by hours of scored sleep.
       60 * coalesce(n_obstructive_apneas + n_central_apneas + n_mixed_apneas + n_hypopneas, 0)
           / nullif(sleep_min, 0) AS ahi,
       60 * coalesce(n_arousals, 0) / nullif(sleep_min, 0) AS arousals_per_hour,
       p.* EXCLUDE (dataset, subject, visit)
FROM stage_by_recording s LEFT JOIN counted c ON c.recording_id = s.recording_id
LEFT JOIN subjects p ON p.dataset = s.dataset AND p.subject = s.subject AND p.visit = s.visit
ORDER BY s.dataset, s.name;

-- Windows from a minute before to a minute after each event. The join is on recording and row:
-- a join on a range of seconds takes many times as long.
-- windows_around_events: Windows from a minute before to a minute after each event.
--   kind: Kind of the event.
--   event_start_s: Start of the event, in seconds.
--   event_duration_s: Length of the event, in seconds.
--   after_end_s: Seconds from the event's end to the window's start.
CREATE VIEW windows_around_events AS
SELECT e.kind, e.start_s AS event_start_s, e.duration_s AS event_duration_s,
       w.start_s - (e.start_s + e.duration_s) AS after_end_s,
       w.*
FROM (SELECT *, unnest(range(first_row - 6, last_row + 8)) AS near_row FROM events) e
JOIN windows w ON w.recording_id = e.recording_id AND w."row" = e.near_row;

-- The other views are made by code, because they depend on what is published.

-- passed_windows: Windows that the gate does not reject: not flat, clipped or non-finite.

-- quality_grades: Recordings with a technician's grade, beside their unacceptable windows.
--   n_windows: Number of windows.
--   grade: Technician's grade of the heart signal (hrqual, quhr of SHHS).
--   unacceptable_share: Share of the recording's windows that are Unacceptable.

-- windows_with_signal: Every window with its samples, read from the window files.
--   beat_offset_s: R peaks of the window, in seconds from its start.
--   beat_trusted: Of each R peak, whether both detectors found it, or one of them cannot see there.
--   beat_normal: Of each R peak, whether the interval that ends with it is normal-to-normal.
--   signal: The window's 1000 samples at 100 Hz, filtered and normalised by its recording.
