"""Encoder, losses, methods, training, benchmarks and report."""
