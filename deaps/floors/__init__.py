"""Floors: features that a learned representation must beat to be worth its training."""
