"""What the report shows besides the tables of benchmarks: records made of arrays."""
