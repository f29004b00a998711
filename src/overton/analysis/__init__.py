"""Analyses of runs: numbers, human labels and recomputed published numbers."""
