"""Window files: writing, finding, mapping and normalising stored windows."""
