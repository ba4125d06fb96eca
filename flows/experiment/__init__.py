"""Experiments: what is trained and compared, how far it is, and the jobs that do it."""
