"""Intervals, tests and models for counts. No language model here."""

from overton.statistics.estimate import (
    NO_INTERVAL,
    NOT_COMPUTED,
    Estimate,
    PreferredEstimate,
    not_computed,
    preferred_estimate,
)

__all__ = ["NOT_COMPUTED", "NO_INTERVAL", "Estimate", "PreferredEstimate", "not_computed", "preferred_estimate"]
