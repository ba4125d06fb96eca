"""Benchmarks: a classifier on frozen features, one file each, registered in `interface`."""
