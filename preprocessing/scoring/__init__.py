"""Scorings: sleep stages and events beside a recording, from files of several kinds."""
