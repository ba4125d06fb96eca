"""Sampling: which windows of the index make up each batch, and reading them."""
