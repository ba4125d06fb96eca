"""Data-set readers, signal chain, quality score and synthetic cohort: numpy in, numpy out."""
