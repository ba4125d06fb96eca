"""Care of a store: check it, clean it up, measure it, see who works on it."""
