"""A folder of one's own recordings: files in any layout, and a table of subjects."""
