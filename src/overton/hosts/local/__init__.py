"""Runs in folders on this machine."""
