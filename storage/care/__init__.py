"""Care of a store: check it, remove what is not needed, measure it, see who works on it."""
