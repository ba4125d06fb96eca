"""The base class of all errors that a person can mend."""

from __future__ import annotations


class DeapsError(Exception):
    """A problem that a person can mend; the message gives the value and the next step.

    The command line prints the message of such an error, or of an `OSError`, and exits with 2.
    Any other exception is a fault of this project and keeps its traceback.
    """
