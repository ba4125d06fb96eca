"""Experiments that were run: their plans, their records and the tables made of them."""
