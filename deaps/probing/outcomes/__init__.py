"""From the probes' answers to what an evaluation records: figures, differences, curves, ranks."""
