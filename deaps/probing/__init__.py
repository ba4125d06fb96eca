"""Probing: fit classifiers on frozen features, on guarded splits, and score them."""
