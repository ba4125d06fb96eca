"""Drawings of the report, one module each."""
