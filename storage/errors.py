"""The one base error for what a person can mend."""

from __future__ import annotations


class DeapsError(Exception):
    """Something that a person can mend; the message gives the value and the next step.

    The command line prints the message of these, and of `OSError`, and exits with 2. Any other
    exception is a fault of this project and keeps its traceback.
    """
