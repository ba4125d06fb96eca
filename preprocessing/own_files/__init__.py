"""A person's own recordings: the table of subjects beside them, read as people write it."""
