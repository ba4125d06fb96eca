"""Ingest: what the preprocessing stage is made of, from the scan to the publication."""
