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

-- stage_by_recording: Minutes of each sleep stage, efficiency, latencies and wake of each night.
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
--   rem_latency_min: Minutes from the first sleep to the first REM sleep; NULL without any.
--   waso_min: Minutes awake after the first sleep, up to the end of the scoring.
--   stage_shifts: Changes from one stage to another from the first sleep to the last.
CREATE VIEW stage_by_recording AS
WITH marked AS (
    SELECT *, stage IN ('N1', 'N2', 'N3', 'REM') AS asleep,
           lag(stage) OVER (PARTITION BY recording_id ORDER BY start_s) AS before,
           min(start_s) FILTER (stage IN ('N1', 'N2', 'N3', 'REM')) OVER night AS onset_s,
           max(start_s) FILTER (stage IN ('N1', 'N2', 'N3', 'REM')) OVER night AS last_s
    FROM stages WINDOW night AS (PARTITION BY recording_id)
), spans AS (
    SELECT recording_id,
           sum(duration_s) FILTER (stage = 'W') / 60 AS wake_min,
           sum(duration_s) FILTER (stage = 'N1') / 60 AS n1_min,
           sum(duration_s) FILTER (stage = 'N2') / 60 AS n2_min,
           sum(duration_s) FILTER (stage = 'N3') / 60 AS n3_min,
           sum(duration_s) FILTER (stage = 'REM') / 60 AS rem_min,
           sum(duration_s) FILTER (stage = 'movement') / 60 AS movement_min,
           sum(duration_s) FILTER (stage = 'unscored') / 60 AS unscored_min,
           sum(duration_s) FILTER (asleep) / 60 AS sleep_min,
           sum(duration_s) FILTER (stage <> 'unscored') / 60 AS scored_min,
           min(start_s) FILTER (stage <> 'unscored') / 60 AS first_min,
           any_value(onset_s) / 60 AS onset_min,
           min(start_s) FILTER (stage = 'REM') / 60 AS rem_start_min,
           sum(duration_s) FILTER (stage = 'W' AND start_s > onset_s) / 60 AS waso_min,
           count(*) FILTER (stage <> before AND start_s > onset_s AND start_s <= last_s) AS shifts
    FROM marked GROUP BY recording_id
)
SELECT recording_id, r.dataset, r.name, r.subject, r.visit, r.sex, r.age,
       coalesce(wake_min, 0) AS wake_min, coalesce(n1_min, 0) AS n1_min,
       coalesce(n2_min, 0) AS n2_min, coalesce(n3_min, 0) AS n3_min,
       coalesce(rem_min, 0) AS rem_min, coalesce(movement_min, 0) AS movement_min,
       coalesce(unscored_min, 0) AS unscored_min, coalesce(sleep_min, 0) AS sleep_min,
       coalesce(sleep_min, 0) / scored_min AS efficiency,
       onset_min - first_min AS latency_min,
       rem_start_min - onset_min AS rem_latency_min,
       CASE WHEN onset_min IS NOT NULL THEN coalesce(waso_min, 0) END AS waso_min,
       CASE WHEN onset_min IS NOT NULL THEN shifts END AS stage_shifts,
       s.* EXCLUDE (dataset, subject, visit)
FROM spans JOIN recordings r USING (recording_id)
LEFT JOIN subjects s ON s.dataset = r.dataset AND s.subject = r.subject AND s.visit = r.visit
WHERE r.status = 'ok'
ORDER BY r.dataset, r.name;

-- events_by_recording: Events of scored recordings by kind, and apnea-hypopnea indices.
--   n_arousals: Number of arousals.
--   n_obstructive_apneas: Number of obstructive apneas.
--   n_central_apneas: Number of central apneas.
--   n_mixed_apneas: Number of mixed apneas.
--   n_hypopneas: Number of hypopneas, whatever the desaturation.
--   n_desaturations: Number of desaturations.
--   n_all: Apneas and hypopneas that start in sleep.
--   n3: Those of them that are apneas, or hypopneas with a linked desaturation of 3 % or more.
--   n4: The same with 4 %.
--   n3a: The same with 3 %, or with a linked arousal.
--   ahi_all: n_all for each hour of sleep.
--   ahi3: n3 for each hour of sleep; NULL if the depth of a desaturation is not known.
--   ahi4: n4 for each hour of sleep; NULL if the depth of a desaturation is not known.
--   ahi3a: n3a for each hour of sleep; NULL if the depth of a desaturation is not known.
--   ahi3_rem: ahi3 of events that start in REM sleep, for each hour of it.
--   ahi3_nrem: ahi3 of events that start in N1, N2 or N3, for each hour of them.
--   ahi4_rem: ahi4 of events that start in REM sleep, for each hour of it.
--   ahi4_nrem: ahi4 of events that start in N1, N2 or N3, for each hour of them.
--   ahi3a_rem: ahi3a of events that start in REM sleep, for each hour of it.
--   ahi3a_nrem: ahi3a of events that start in N1, N2 or N3, for each hour of them.
--   arousals_per_hour: Arousals for each hour of scored sleep.
CREATE VIEW events_by_recording AS
WITH judged AS (
    SELECT *, kind IN ('obstructive_apnea', 'central_apnea', 'mixed_apnea') AS apnea,
           stage IN ('N1', 'N2', 'N3', 'REM')
               AND kind IN ('obstructive_apnea', 'central_apnea', 'mixed_apnea', 'hypopnea') AS a0,
           a0 AND (apnea OR linked_drop >= 3) AS a3,
           a0 AND (apnea OR linked_drop >= 4) AS a4,
           a0 AND (apnea OR linked_drop >= 3 OR linked_arousal) AS a3a
    FROM events
), counted AS (
    SELECT recording_id,
           count(*) FILTER (kind = 'arousal') AS n_arousals,
           count(*) FILTER (kind = 'obstructive_apnea') AS n_obstructive_apneas,
           count(*) FILTER (kind = 'central_apnea') AS n_central_apneas,
           count(*) FILTER (kind = 'mixed_apnea') AS n_mixed_apneas,
           count(*) FILTER (kind = 'hypopnea') AS n_hypopneas,
           count(*) FILTER (kind = 'desaturation') AS n_desaturations,
           count(*) FILTER (a0) AS n_all, count(*) FILTER (a3) AS n3,
           count(*) FILTER (a4) AS n4, count(*) FILTER (a3a) AS n3a,
           count(*) FILTER (a3 AND stage = 'REM') AS n3_rem,
           count(*) FILTER (a4 AND stage = 'REM') AS n4_rem,
           count(*) FILTER (a3a AND stage = 'REM') AS n3a_rem,
           bool_or(kind = 'desaturation' AND spo2_drop IS NULL) AS unknown_depth
    FROM judged GROUP BY recording_id
), hours AS (
    SELECT s.*, c.* EXCLUDE (recording_id), nullif(sleep_min, 0) / 60 AS sleep_h,
           -- Without the depth of a desaturation, an index that needs it has no value.
           CASE WHEN unknown_depth THEN NULL ELSE 0 END AS known,
           sleep_h + known AS known_h, nullif(rem_min, 0) / 60 + known AS rem_h,
           nullif(sleep_min - rem_min, 0) / 60 + known AS nrem_h
    FROM stage_by_recording s LEFT JOIN counted c ON c.recording_id = s.recording_id
)
SELECT h.recording_id, h.dataset, h.name, h.subject, h.visit, h.sex, h.age,
       coalesce(n_arousals, 0) AS n_arousals,
       coalesce(n_obstructive_apneas, 0) AS n_obstructive_apneas,
       coalesce(n_central_apneas, 0) AS n_central_apneas,
       coalesce(n_mixed_apneas, 0) AS n_mixed_apneas,
       coalesce(n_hypopneas, 0) AS n_hypopneas,
       coalesce(n_desaturations, 0) AS n_desaturations,
       coalesce(n_all, 0) AS n_all, coalesce(n3, 0) + known AS n3,
       coalesce(n4, 0) + known AS n4, coalesce(n3a, 0) + known AS n3a,
       coalesce(n_all, 0) / sleep_h AS ahi_all,
       coalesce(n3, 0) / known_h AS ahi3,
       coalesce(n4, 0) / known_h AS ahi4,
       coalesce(n3a, 0) / known_h AS ahi3a,
       coalesce(n3_rem, 0) / rem_h AS ahi3_rem, coalesce(n3 - n3_rem, 0) / nrem_h AS ahi3_nrem,
       coalesce(n4_rem, 0) / rem_h AS ahi4_rem, coalesce(n4 - n4_rem, 0) / nrem_h AS ahi4_nrem,
       coalesce(n3a_rem, 0) / rem_h AS ahi3a_rem,
       coalesce(n3a - n3a_rem, 0) / nrem_h AS ahi3a_nrem,
       coalesce(n_arousals, 0) / sleep_h AS arousals_per_hour,
       p.* EXCLUDE (dataset, subject, visit)
FROM hours h
LEFT JOIN subjects p ON p.dataset = h.dataset AND p.subject = h.subject AND p.visit = h.visit
ORDER BY h.dataset, h.name;

-- nights: One wide row for each recording with windows: usable hours, stages and indices.
--   hours: Length in hours.
--   usable_hours: Hours in windows that are not Unacceptable.
CREATE VIEW nights AS
WITH usable AS (
    SELECT recording_id, sum(n_windows) FILTER (quality <> 'Unacceptable') / 360 AS usable_hours
    FROM window_counts GROUP BY recording_id
)
SELECT r.recording_id, r.dataset, r.name, r.subject, r.visit, r.sex, r.age,
       r.duration_s / 3600 AS hours, coalesce(u.usable_hours, 0) AS usable_hours,
       s.sleep_min, s.efficiency, s.latency_min, s.rem_latency_min, s.waso_min, s.stage_shifts,
       s.n1_min, s.n2_min, s.n3_min, s.rem_min, e.ahi_all, e.ahi3, e.ahi4, e.ahi3a, e.ahi3_rem,
       e.ahi3_nrem, e.ahi4_rem, e.ahi4_nrem, e.arousals_per_hour,
       p.* EXCLUDE (dataset, subject, visit)
FROM recordings r JOIN usable u USING (recording_id)
LEFT JOIN stage_by_recording s ON s.recording_id = r.recording_id
LEFT JOIN events_by_recording e ON e.recording_id = r.recording_id
LEFT JOIN subjects p ON p.dataset = r.dataset AND p.subject = r.subject AND p.visit = r.visit
WHERE r.status = 'ok'
ORDER BY r.dataset, r.name;

-- window_facts: One wide row for each window, with what is asked often.
--   recording: Name of the recording within its data set.
--   number: Number of the window in its recording, from 0: the column row of windows.
--   hour: Hour of the recording, from 0.
--   usable: Whether it is not Unacceptable.
--   passed: Whether the gate does not reject it.
CREATE VIEW window_facts AS
SELECT r.dataset, r.name AS recording, w."row" AS number, r.subject, r.visit, r.sex, r.age, r.label,
       r.split, floor(w.start_s / 3600)::INTEGER AS hour, w.quality <> 'Unacceptable' AS usable,
       NOT (w.flat OR w.clipped OR w.nonfinite) AS passed, w.* EXCLUDE ("row")
FROM windows w JOIN recordings r ON r.recording_id = w.recording_id WHERE r.status = 'ok';

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
