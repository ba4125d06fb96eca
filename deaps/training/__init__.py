"""Training: run folders, checkpoints, metrics, devices and processes."""
