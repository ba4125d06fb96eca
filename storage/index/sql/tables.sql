-- Tables of the index; storage/schema.py explains the columns. storage/index/build.py creates
-- the types quality_class and rhythm_label before this file runs.

CREATE TABLE snapshot (
    snapshot_id VARCHAR NOT NULL,      -- depends on recordings, windows and settings alone
    content_digest VARCHAR NOT NULL,   -- depends on everything but times and ids
    schema_version INTEGER NOT NULL,
    published_at TIMESTAMP NOT NULL,   -- UTC
    store_root VARCHAR NOT NULL,       -- windows_with_signal reads here unless deaps_store is set
    settings JSON NOT NULL,
    versions JSON NOT NULL,
    n_datasets INTEGER NOT NULL,
    n_recordings INTEGER NOT NULL,     -- including quarantined ones
    n_quarantined INTEGER NOT NULL,
    n_windows BIGINT NOT NULL,
    next_recording_id INTEGER NOT NULL, -- ids are never used again
    skipped VARCHAR[] NOT NULL         -- runs and reports that could not be read, and why
);

CREATE TABLE datasets (
    dataset VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    label_source VARCHAR,
    warnings VARCHAR[] NOT NULL,
    scanned_at_ns BIGINT NOT NULL,
    synthetic BOOLEAN NOT NULL,        -- written by deaps synth: no person was recorded
    n_recordings INTEGER NOT NULL,
    n_quarantined INTEGER NOT NULL,
    n_windows BIGINT NOT NULL
);

CREATE TABLE recordings (
    recording_id INTEGER NOT NULL,     -- the same in every snapshot
    dataset VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    visit INTEGER NOT NULL,
    status VARCHAR NOT NULL,           -- ok, quarantined
    reason VARCHAR,
    sex VARCHAR,
    age DOUBLE,
    label VARCHAR,
    split VARCHAR,                     -- part of the data set: train, validation; set-I, set-II
    rhythm VARCHAR,                    -- of the whole recording
    fs DOUBLE,                         -- Hz, of the source
    duration_s DOUBLE,
    channel VARCHAR,
    n_windows INTEGER NOT NULL,        -- in the file; those of a quarantined recording are not in windows
    dropped_s DOUBLE,
    n_samples BIGINT,
    mean_mv DOUBLE,
    std_mv DOUBLE,
    polarity DOUBLE,
    truncated BOOLEAN NOT NULL,
    notes VARCHAR[] NOT NULL,
    rhythms VARCHAR[] NOT NULL,        -- labels of its windows, sorted
    path VARCHAR,                      -- relative to the store
    signal_offset BIGINT,
    bytes BIGINT,
    file_sha256 VARCHAR,
    digest VARCHAR,
    settings_digest VARCHAR,
    versions VARCHAR,                  -- of readers and steps of the chain that made its windows
    signal_digest VARCHAR,             -- of the lead as it was read; NULL where it is constant
    checked_at_ns BIGINT NOT NULL,     -- when times and sizes of the sources were read
    clock_s DOUBLE,                    -- time of day at its start, in seconds after midnight
    scoring_digest VARCHAR,            -- of stages and events; NULL without a scoring
    scoring_notes VARCHAR[] NOT NULL,
    scoring_version INTEGER            -- of the readers of stages and events
);

CREATE TABLE chains (                  -- settings that windows were made with
    settings_digest VARCHAR NOT NULL,  -- as in recordings
    settings JSON NOT NULL
);

CREATE TABLE sources (
    recording_id INTEGER NOT NULL,
    path VARCHAR NOT NULL,             -- relative to the data set's root
    role VARCHAR NOT NULL,             -- signal, header, annotation, scoring
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    ctime_ns BIGINT NOT NULL,
    inode UBIGINT NOT NULL,
    sha256 VARCHAR NOT NULL
);

-- Without NOT NULL, which would take a fifth of the time: the schema of the files has it.
CREATE TABLE windows (
    recording_id INTEGER,
    row INTEGER,                       -- 0 to n_windows - 1
    start_s DOUBLE,
    quality quality_class,
    quality4 quality_class,
    psqi FLOAT,
    ksqi FLOAT,
    bassqi FLOAT,
    qsqi FLOAT,
    hr_max FLOAT,                      -- beats per minute
    flat BOOLEAN,
    clipped BOOLEAN,
    nonfinite BOOLEAN,
    rhythm rhythm_label,
    rhythm_share FLOAT,                -- of the window; NULL if the label is the recording's
    hr_mean FLOAT,                     -- beats per minute: rate of the mean RR interval
    hr_sd FLOAT,                       -- standard deviation of the rates of its RR intervals
    time_of_day TIME,                  -- at the window's start
    stage sleep_stage,                 -- that covers most of it; NULL where nothing is scored
    old_stage old_sleep_stage,         -- the same with S3 and S4 apart
    stage_share FLOAT,                 -- of the window
    arousal_s FLOAT,                   -- seconds of the window; NULL without a scoring
    obstructive_apnea_s FLOAT,
    central_apnea_s FLOAT,
    mixed_apnea_s FLOAT,
    hypopnea_s FLOAT,
    desaturation_s FLOAT
);

CREATE TABLE stages (                  -- the hypnogram: one row for each span of one stage
    recording_id INTEGER NOT NULL,
    start_s DOUBLE NOT NULL,
    duration_s DOUBLE NOT NULL,
    stage sleep_stage NOT NULL,
    old_stage old_sleep_stage
);

CREATE TABLE events (
    recording_id INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    start_s DOUBLE NOT NULL,
    duration_s DOUBLE NOT NULL,
    first_row INTEGER NOT NULL,        -- row of the window in which it starts
    last_row INTEGER NOT NULL          -- row of the window in which it ends
);

CREATE TABLE window_counts (           -- windows of each kind, for quick counts
    recording_id INTEGER NOT NULL,
    quality quality_class NOT NULL,
    rhythm rhythm_label,
    n_windows INTEGER NOT NULL,
    first_row INTEGER NOT NULL,
    last_row INTEGER NOT NULL
);

CREATE TABLE runs (
    run VARCHAR NOT NULL,              -- folder under runs/
    method VARCHAR,
    snapshot VARCHAR,                  -- snapshot_id it was trained on
    started_at TIMESTAMP,              -- UTC
    finished_at TIMESTAMP,             -- UTC
    iterations BIGINT,
    config JSON,
    synthetic BOOLEAN                  -- some of its data were; NULL in runs of older versions
);

CREATE TABLE results (
    report VARCHAR NOT NULL,           -- folder under reports/
    run VARCHAR,                       -- NULL for a mean over several seeds
    seed BIGINT,                       -- of that run
    method VARCHAR,
    benchmark VARCHAR,
    metric VARCHAR,
    value DOUBLE,
    low DOUBLE,                        -- confidence interval
    high DOUBLE,
    n BIGINT,
    note VARCHAR,
    snapshot VARCHAR,                  -- snapshot_id it was trained and measured on
    encoder_sha256 VARCHAR,            -- of the encoder file; NULL for baselines and means over seeds
    settings_digest VARCHAR,           -- of the resolved settings in the report
    code VARCHAR,                      -- version of deaps, and a digest of its source files
    sources BIGINT,                    -- source files of the snapshot
    sources_sha256 VARCHAR,            -- of their SHA-256s, sorted, a line each
    synthetic BOOLEAN                  -- some of the snapshot's data sets are; NULL in older reports
);
