"""A synthetic SHHS: nights in EDF, subjects, and the cohort's tables."""
