"""The expected cost and precision of a run, and alternative ways to make its calls."""
