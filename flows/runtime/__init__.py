"""Runtime: how flows run: Prefect's server, Dask's workers, signals, progress."""
