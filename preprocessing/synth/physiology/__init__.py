"""Physiology: heart rhythm, beat shape, noise and their course over a night."""
