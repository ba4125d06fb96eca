"""Coverage-guided fuzzing of header checks and annotation parsers, with a corpus that is kept."""
