"""Monitoring: the store's event log, and the state of stages and trainings."""
