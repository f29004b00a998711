"""Intervals, tests and models for counts. No language model in sight."""

from overton.statistics.absent import NOT_COMPUTED, not_computed
from overton.statistics.estimate import Estimate

__all__ = ["NOT_COMPUTED", "Estimate", "not_computed"]
