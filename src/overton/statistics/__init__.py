"""Intervals, tests and models for counts. No language model in sight."""

from overton.statistics.estimate import NOT_COMPUTED, Estimate, not_computed

__all__ = ["NOT_COMPUTED", "Estimate", "not_computed"]
