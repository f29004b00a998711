"""Runs in folders on this machine. The package sets up, runs, resumes, extends, splits, merges and replays them."""
