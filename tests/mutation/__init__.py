"""Mutation testing of losses, methods, sampler and training loop."""
