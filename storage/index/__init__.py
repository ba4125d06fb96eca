"""The index: building, checking and reading ``index.duckdb``."""
