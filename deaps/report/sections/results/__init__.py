"""The result itself: summary, ranks, each benchmark with its differences, few labels."""
