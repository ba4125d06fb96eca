-- Tables of the index: each column with its type and its meaning, declared here and nowhere else.
-- storage/tables.py reads this file. From it follow the index, its comments, `deaps schema`, the
-- documentation, the columns of window files and those of windows_with_signal.
--
-- Columns of windows say where they come from: [file] is measured and stored in window files, and
-- [file, required] is never NULL there; [recording] follows from the recording's own row; [scoring]
-- from its stages and events. storage/index/build.py creates the enumerations first.

-- recordings: One row for each recording, quarantined ones included.
CREATE TABLE recordings (
    recording_id INTEGER NOT NULL,     -- Number of the recording; the same in every later snapshot.
    dataset VARCHAR NOT NULL,          -- Data set, by the name that it has in the settings.
    name VARCHAR NOT NULL,             -- Name of the recording within its data set.
    subject VARCHAR NOT NULL,          -- Person, as the data set names people.
    visit INTEGER NOT NULL,            -- Occasion of the person: 1, 2, and so on.
    status VARCHAR NOT NULL,           -- ok, or quarantined.
    reason VARCHAR,                    -- Why the recording was set aside; NULL if it is ok.
    sex VARCHAR,                       -- male, female, or NULL if it is not known.
    age DOUBLE,                        -- Age at the recording, in years.
    label VARCHAR,                     -- Label of the whole recording: N, A, O or ~ in Challenge 2017.
    split VARCHAR,                     -- Part of the data set: train, validation; set-I, set-II.
    rhythm VARCHAR,                    -- Rhythm of the whole recording, for windows without one of their
                                       -- own.
    fs DOUBLE,                         -- Sampling rate of the source, in Hz; windows have 100 Hz.
    duration_s DOUBLE,                 -- Length in seconds.
    channel VARCHAR,                   -- Label of the lead that was read.
    n_windows INTEGER NOT NULL,        -- Windows in its file; those of a quarantined one are not in windows.
    dropped_s DOUBLE,                  -- Seconds at the end that are too short for a window.
    n_samples BIGINT,                  -- Samples behind mean and standard deviation.
    mean_mv DOUBLE,                    -- Mean of the filtered signal, in mV; windows are normalised by it.
    std_mv DOUBLE,                     -- Standard deviation of the filtered signal, in mV; windows are
                                       -- normalised by it.
    polarity DOUBLE,                   -- Polarity score: negative where the lead seems to be inverted.
    truncated BOOLEAN NOT NULL,        -- Whether the file is shorter than its header announces.
    notes VARCHAR[] NOT NULL,          -- What a reader of results should know of the recording.
    rhythms VARCHAR[] NOT NULL,        -- Rhythms of its windows, each once, sorted.
    path VARCHAR,                      -- Window file, relative to the store.
    signal_offset BIGINT,              -- Byte of the window file at which its samples start.
    bytes BIGINT,                      -- Size of the window file, in bytes.
    file_sha256 VARCHAR,               -- SHA-256 of the window file.
    digest VARCHAR,                    -- Digest of source files and settings, after which the window file is
                                       -- named.
    settings_digest VARCHAR,           -- Digest of the settings that made it.
    versions VARCHAR,                  -- Versions of the readers and steps of the signal chain that made the
                                       -- windows.
    signal_digest VARCHAR,             -- Digest of the lead as it was read; NULL where it is constant.
    checked_at_ns BIGINT NOT NULL,     -- When times and sizes of the sources were read, in ns since 1970.
    clock_s DOUBLE,                    -- Time of day at the start, in seconds after midnight; no date is
                                       -- kept.
    scoring_digest VARCHAR,            -- Digest of stages and events; NULL without a scoring.
    scoring_notes VARCHAR[] NOT NULL,  -- What a reader of results should know of stages and events.
    scoring_version INTEGER            -- Version of the readers of stages and events.
);

-- windows: One row for each 10 s window of the recordings that are not quarantined.
CREATE TABLE windows (
    recording_id INTEGER,       -- Number of the recording; the same in every later snapshot.
    row INTEGER,                -- [file, required] Number of the window in its recording, from 0.
    start_s DOUBLE,             -- [file, required] Start, in seconds from the recording's start.
    quality quality_class,      -- [file, required] Class: Excellent, Barely acceptable, Unacceptable. By
                                -- four indices, as quality4; but beats that repeat are never Unacceptable.
    quality4 quality_class,     -- [file, required] Class by pSQI, kSQI, basSQI and qSQI, as Zhao and Zhang
                                -- published it.
    quality3 quality_class,     -- [file, required] Class by the first three, as NeuroKit2 computes it; it
                                -- rejects slow hearts.
    quality_reason quality_fault,  -- [file] What keeps the window from Excellent: a fault of the gate, or
                                -- the index that missed a limit; NULL if it is Excellent.
    reason_value FLOAT,         -- [file] Value of that index; NULL for a fault of the gate.
    reason_limit FLOAT,         -- [file] Limit that it missed.
    psqi FLOAT,                 -- [file] Share of power between 5 and 15 Hz in that between 5 and 40 Hz.
    ksqi FLOAT,                 -- [file] Kurtosis of the window.
    bassqi FLOAT,               -- [file] One less the share of power below 1 Hz in that below 40 Hz.
    qsqi FLOAT,                 -- [file] Share of beats on which two detectors agree.
    hr_max FLOAT,               -- [file] Highest heart rate within the window, in beats per minute.
    flat BOOLEAN,               -- [file, required] Gate: the source stays unchanged for too long.
    clipped BOOLEAN,            -- [file, required] Gate: too many source samples lie on the recording's
                                -- rails.
    nonfinite BOOLEAN,          -- [file, required] Gate: the source has missing or infinite samples.
    rhythm rhythm_label,        -- [file] Rhythm that covers most of the window, or the recording's.
    rhythm_share FLOAT,         -- [file] Share of the window with that rhythm; NULL if the label is the
                                -- recording's.
    hr_mean FLOAT,              -- [file] Heart rate of the mean RR interval, in beats per minute.
    hr_sd FLOAT,                -- [file] Standard deviation of the rates of the single RR intervals, in
                                -- beats per minute.
    time_of_day TIME,           -- [recording] Time of day at the window's start; NULL if the header has
                                -- none.
    stage sleep_stage,          -- [scoring] Sleep stage that covers most of it: W, N1, N2, N3, REM,
                                -- movement, unscored.
    old_stage old_sleep_stage,  -- [scoring] Sleep stage of Rechtschaffen and Kales, with S3 and S4 apart.
    stage_share FLOAT,          -- [scoring] Share of the window with that stage.
    arousal_s FLOAT,            -- [scoring] Seconds of arousal in the window; NULL without a scoring.
    obstructive_apnea_s FLOAT,  -- [scoring] Seconds of obstructive apnea in the window; NULL without a
                                -- scoring.
    central_apnea_s FLOAT,      -- [scoring] Seconds of central apnea in the window; NULL without a scoring.
    mixed_apnea_s FLOAT,        -- [scoring] Seconds of mixed apnea in the window; NULL without a scoring.
    hypopnea_s FLOAT,           -- [scoring] Seconds of hypopnea in the window; NULL without a scoring.
    desaturation_s FLOAT        -- [scoring] Seconds of desaturation in the window; NULL without a scoring.
);

-- stages: The hypnogram: one row for each span of one sleep stage.
CREATE TABLE stages (
    recording_id INTEGER NOT NULL,  -- Number of the recording; the same in every later snapshot.
    start_s DOUBLE NOT NULL,        -- Start of the span, in seconds from the recording's start.
    duration_s DOUBLE NOT NULL,     -- Length of the span, in seconds.
    stage sleep_stage NOT NULL,     -- Stage of the span.
    old_stage old_sleep_stage       -- The same with S3 and S4 apart; NULL if the scorer used the newer
                                    -- names.
);

-- events: One row for each scored event, such as an apnea or an arousal.
CREATE TABLE events (
    recording_id INTEGER NOT NULL,  -- Number of the recording; the same in every later snapshot.
    kind VARCHAR NOT NULL,          -- Kind of event, such as hypopnea.
    start_s DOUBLE NOT NULL,        -- Start of the event, in seconds from the recording's start.
    duration_s DOUBLE NOT NULL,     -- Length of the event, in seconds.
    first_row INTEGER NOT NULL,     -- Row of the window in which it starts.
    last_row INTEGER NOT NULL,      -- Row of the window in which it ends.
    stage sleep_stage,              -- Sleep stage at its start; NULL where none is scored.
    spo2_drop FLOAT,                -- How far SpO2 falls in a desaturation, in points of per cent; NULL if
                                    -- the scoring does not give it.
    linked_drop FLOAT,              -- Greatest fall among the desaturations linked to an apnea or hypopnea:
                                    -- they begin between its start and 30 s after its end; NULL without
                                    -- any, or if their depth is not known.
    linked_arousal BOOLEAN          -- Whether an arousal is linked to an apnea or hypopnea: it begins
                                    -- between its start and 5 s after its end; NULL for other events.
);

-- window_counts: Windows of each recording by quality and rhythm, for quick counts.
CREATE TABLE window_counts (
    recording_id INTEGER NOT NULL,   -- Number of the recording; the same in every later snapshot.
    quality quality_class NOT NULL,  -- Class: Excellent, Barely acceptable, Unacceptable.
    rhythm rhythm_label,             -- Cardiac rhythm, by the codes of WFDB (N, AFIB, ...); NULL if it is
                                     -- not known.
    n_windows INTEGER NOT NULL,      -- Number of windows.
    first_row INTEGER NOT NULL,      -- Row of the first window of this quality and rhythm.
    last_row INTEGER NOT NULL        -- Row of the last window of this quality and rhythm.
);

-- chains: One row for each set of settings that windows were made with.
CREATE TABLE chains (
    settings_digest VARCHAR NOT NULL,  -- Digest of settings and versions, as in recordings.
    settings JSON NOT NULL             -- Settings of the signal chain and of the quality score.
);

-- sources: One row for each source file, as it was when it was read.
CREATE TABLE sources (
    recording_id INTEGER NOT NULL,  -- Number of the recording; the same in every later snapshot.
    path VARCHAR NOT NULL,          -- Path of the file, relative to the data set's root.
    role VARCHAR NOT NULL,          -- What the file gives: signal, header, annotation or scoring.
    size BIGINT NOT NULL,           -- Size in bytes when it was read.
    mtime_ns BIGINT NOT NULL,       -- Time of its last change when it was read, in ns since 1970.
    ctime_ns BIGINT NOT NULL,       -- Time of its last change of status when it was read, in ns since 1970.
    inode UBIGINT NOT NULL,         -- Number of the file in its file system.
    sha256 VARCHAR NOT NULL         -- SHA-256 of its content.
);

-- datasets: One row for each data set, as the last scan found it.
CREATE TABLE datasets (
    dataset VARCHAR NOT NULL,        -- Data set, by the name that it has in the settings.
    fingerprint VARCHAR NOT NULL,    -- Digest of the data set's tables and warnings at the last scan.
    label_source VARCHAR,            -- Table with the labels; NULL if there is none.
    warnings VARCHAR[] NOT NULL,     -- What a reader of results should know of the data set.
    scanned_at_ns BIGINT NOT NULL,   -- When the data set was scanned, in ns since 1970.
    synthetic BOOLEAN NOT NULL,      -- Whether deaps synth wrote it: no person was recorded.
    n_recordings INTEGER NOT NULL,   -- Number of recordings.
    n_quarantined INTEGER NOT NULL,  -- Number of recordings that were set aside.
    n_windows BIGINT NOT NULL        -- Number of windows.
);

-- runs: One row for each training.
CREATE TABLE runs (
    run VARCHAR NOT NULL,   -- Training: a folder under runs/.
    method VARCHAR,         -- Method that was trained, or the baseline.
    snapshot VARCHAR,       -- snapshot_id of the index that it was trained on.
    started_at TIMESTAMP,   -- When it was started, UTC.
    finished_at TIMESTAMP,  -- When it was finished, UTC; NULL if it is not.
    iterations BIGINT,      -- Steps of the training.
    config JSON,            -- Every setting of the training.
    synthetic BOOLEAN       -- Whether some data were synthetic; NULL in runs of older versions.
);

-- results: One row for each figure of a report, with what it comes from.
CREATE TABLE results (
    report VARCHAR NOT NULL,  -- Report: a folder under reports/.
    run VARCHAR,              -- Training that it was measured on; NULL for a mean over several seeds.
    seed BIGINT,              -- Seed of that training.
    method VARCHAR,           -- Method that was trained, or the baseline.
    benchmark VARCHAR,        -- Benchmark, such as afib-loo.
    metric VARCHAR,           -- What was measured, such as accuracy.
    value DOUBLE,             -- The figure.
    low DOUBLE,               -- Lower end of its confidence interval.
    high DOUBLE,              -- Upper end of its confidence interval.
    n BIGINT,                 -- Examples behind it.
    note VARCHAR,             -- What a reader should know of it.
    snapshot VARCHAR,         -- snapshot_id that it was trained and measured on.
    encoder_sha256 VARCHAR,   -- SHA-256 of the encoder; NULL for baselines and means over seeds.
    settings_digest VARCHAR,  -- Digest of the settings in the report.
    code VARCHAR,             -- Version of deaps, and a digest of its source files.
    sources BIGINT,           -- Source files of the snapshot.
    sources_sha256 VARCHAR,   -- SHA-256 of their SHA-256s, sorted, a line each.
    synthetic BOOLEAN         -- Whether some data are synthetic; NULL in reports of older versions.
);

-- snapshot: One row: this published index, what made it, and how large it is.
CREATE TABLE snapshot (
    snapshot_id VARCHAR NOT NULL,        -- Digest of recordings, windows and settings.
    content_digest VARCHAR NOT NULL,     -- Digest of everything but times and ids.
    schema_version INTEGER NOT NULL,     -- Version of these tables.
    published_at TIMESTAMP NOT NULL,     -- When it was published, UTC.
    store_root VARCHAR NOT NULL,         -- Folder in which windows_with_signal looks for window files.
    settings JSON NOT NULL,              -- Settings of the last publication; those of each recording:
                                         -- chains.
    versions JSON NOT NULL,              -- Versions of the libraries that made it.
    n_datasets INTEGER NOT NULL,         -- Number of data sets.
    n_recordings INTEGER NOT NULL,       -- Number of recordings, quarantined ones included.
    n_quarantined INTEGER NOT NULL,      -- Number of recordings that were set aside.
    n_windows BIGINT NOT NULL,           -- Number of windows.
    next_recording_id INTEGER NOT NULL,  -- Number for the next new recording; none is used twice.
    skipped VARCHAR[] NOT NULL           -- Runs and reports that could not be read, and why.
);

-- subjects: One row for each subject and visit, with variables of the cohort's own tables.
CREATE TABLE subjects (         -- publication adds a column for each variable
    dataset VARCHAR NOT NULL,   -- Data set, by the name that it has in the settings.
    subject VARCHAR NOT NULL,   -- Person, as the data set names people.
    visit INTEGER NOT NULL      -- Occasion of the person: 1, 2, and so on.
);
