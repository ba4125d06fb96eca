"""Sections of the report, one module each: from the evaluation to parts."""
