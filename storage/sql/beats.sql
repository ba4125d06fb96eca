-- Beats and heart-rate variability, read from the window files when asked. The names in braces are
-- filled in by storage/index/columns.py.

-- beats: Every R peak, with the interval that ends with it.
--   t_s: Time of the R peak, in seconds from the recording's start, placed between the samples.
--   rr_s: Interval from the beat before, in seconds.
--   rr_change_ms: Change from the interval before, in ms; NULL unless both intervals are usable.
--   trusted: Whether both detectors found it, or one of them cannot see there.
--   usable: Whether the interval is normal-to-normal, in windows that are not Unacceptable.
CREATE VIEW beats AS
WITH found AS (
    SELECT r.recording_id, f."row", f.start_s, f.quality <> 'Unacceptable' AS clean,
           unnest(f.beat_offset_s) AS offset_s, unnest(f.beat_trusted) AS trusted,
           unnest(f.beat_normal) AS normal
    FROM {files} f JOIN recordings r ON f.filename = {store} || r.path
    WHERE r.status = 'ok'
), timed AS (
    SELECT recording_id, "row", trusted, start_s + offset_s AS t_s,
           start_s + offset_s - lag(start_s + offset_s) OVER recording AS rr_s,
           coalesce(normal AND clean AND lag(clean) OVER recording, false) AS usable
    FROM found WINDOW recording AS (PARTITION BY recording_id ORDER BY start_s + offset_s)
), changed AS (
    SELECT *, CASE WHEN usable AND lag(usable) OVER recording
                   THEN 1000 * (rr_s - lag(rr_s) OVER recording) END AS rr_change_ms
    FROM timed WINDOW recording AS (PARTITION BY recording_id ORDER BY t_s)
)
SELECT b.recording_id, b."row", b.t_s, b.rr_s, b.rr_change_ms, b.trusted, b.usable,
       w.stage, w.rhythm
FROM changed b JOIN windows w ON w.recording_id = b.recording_id AND w."row" = b."row";

-- hrv_by_5min: Heart-rate variability of each five minutes, over usable intervals.
--   start_s: Start of the five minutes, in seconds from the recording's start.
--   n_beats: Number of R peaks.
--   usable_share: Share of the intervals that are usable.
--   mean_rr_ms: Mean normal-to-normal interval, in ms.
--   sdnn_ms: Standard deviation of the intervals, in ms.
--   rmssd_ms: Root mean square of the changes from one interval to the next, in ms.
--   pnn50: Share of those changes that are over 50 ms.
CREATE VIEW hrv_by_5min AS
SELECT recording_id, 300 * floor(t_s / 300) AS start_s, count(*) AS n_beats,
       avg(usable::INTEGER) AS usable_share,
       1000 * avg(rr_s) FILTER (usable) AS mean_rr_ms,
       1000 * stddev_samp(rr_s) FILTER (usable) AS sdnn_ms,
       sqrt(avg(rr_change_ms ** 2)) AS rmssd_ms,
       avg((abs(rr_change_ms) > 50)::INTEGER) AS pnn50
FROM beats GROUP BY ALL ORDER BY ALL;

-- hrv_by_stage: Heart-rate variability of each recording in each sleep stage.
--   n_beats: Number of R peaks.
--   usable_share: Share of the intervals that are usable.
--   mean_rr_ms: Mean normal-to-normal interval, in ms.
--   sdnn_ms: Standard deviation of the intervals, in ms.
--   rmssd_ms: Root mean square of the changes from one interval to the next, in ms.
--   pnn50: Share of those changes that are over 50 ms.
CREATE VIEW hrv_by_stage AS
SELECT recording_id, stage, count(*) AS n_beats,
       avg(usable::INTEGER) AS usable_share,
       1000 * avg(rr_s) FILTER (usable) AS mean_rr_ms,
       1000 * stddev_samp(rr_s) FILTER (usable) AS sdnn_ms,
       sqrt(avg(rr_change_ms ** 2)) AS rmssd_ms,
       avg((abs(rr_change_ms) > 50)::INTEGER) AS pnn50
FROM beats WHERE stage IS NOT NULL GROUP BY ALL ORDER BY ALL;

-- hrv_by_recording: Heart-rate variability of each recording.
--   n_beats: Number of R peaks.
--   usable_share: Share of the intervals that are usable.
--   mean_rr_ms: Mean normal-to-normal interval, in ms.
--   sdnn_ms: Standard deviation of the intervals, in ms.
--   rmssd_ms: Root mean square of the changes from one interval to the next, in ms.
--   pnn50: Share of those changes that are over 50 ms.
CREATE VIEW hrv_by_recording AS
SELECT b.recording_id, r.dataset, r.name, r.subject, r.visit, r.sex, r.age, count(*) AS n_beats,
       avg(usable::INTEGER) AS usable_share,
       1000 * avg(rr_s) FILTER (usable) AS mean_rr_ms,
       1000 * stddev_samp(rr_s) FILTER (usable) AS sdnn_ms,
       sqrt(avg(rr_change_ms ** 2)) AS rmssd_ms,
       avg((abs(rr_change_ms) > 50)::INTEGER) AS pnn50
FROM beats b JOIN recordings r USING (recording_id) GROUP BY ALL ORDER BY r.dataset, r.name;
