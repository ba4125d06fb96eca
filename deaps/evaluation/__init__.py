"""Evaluation: classifiers on frozen features, on guarded splits, scored and compared."""
