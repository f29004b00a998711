"""A run's expected cost and precision, and ways to ask."""
