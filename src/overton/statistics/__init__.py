"""Intervals, tests and models of counts. This package uses no language model."""

from overton.statistics.estimate import (
    NO_INTERVAL,
    NOT_COMPUTED,
    Estimate,
    PreferredEstimate,
    not_computed,
    preferred_estimate,
)

__all__ = ["NOT_COMPUTED", "NO_INTERVAL", "Estimate", "PreferredEstimate", "not_computed", "preferred_estimate"]
