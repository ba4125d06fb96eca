"""Window files: write, look up, map and normalise stored windows."""
