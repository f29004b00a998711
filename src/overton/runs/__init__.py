"""Runs in folders on this machine: set up, run, resumed, extended, split, merged, replayed."""
