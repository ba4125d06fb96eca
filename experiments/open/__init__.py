"""The open experiment: its plan, its record, and the scripts that write the pages' tables."""
