"""Intervals, tests and models for counts. No language model here."""

from overton.statistics.estimate import NO_INTERVAL, NOT_COMPUTED, Estimate, Led, led, not_computed

__all__ = ["NOT_COMPUTED", "NO_INTERVAL", "Estimate", "Led", "led", "not_computed"]
