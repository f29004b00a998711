"""Intervals, tests and models for counts. No language model in sight."""

from overton.statistics.estimate import Estimate

__all__ = ["Estimate"]
