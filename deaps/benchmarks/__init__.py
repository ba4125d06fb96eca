"""Benchmarks: a classifier on frozen features, one file each, listed in `benchmark_registry`."""
