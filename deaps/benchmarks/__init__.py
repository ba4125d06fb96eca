"""Benchmarks: a classifier on frozen features, one file each; `deaps.benchmark_registry` lists them."""
