"""Prefect flows, the composed configuration and the command line."""
