"""Losses as functions of tensors, one idea a file; all are means over the batch."""
