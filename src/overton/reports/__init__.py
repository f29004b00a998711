"""Reports of runs, and profiles of models."""
