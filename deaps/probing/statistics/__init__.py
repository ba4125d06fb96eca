"""Statistics of a comparison: intervals over people and seeds, paired tests, average ranks.

`tally` holds what a metric needs of each person, `comparison` compares methods by it, and
`average_ranks` puts several benchmarks together. All functions take values and return values.
"""
