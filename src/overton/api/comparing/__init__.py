"""Models compared over the items that they share: differences with intervals, verdicts, places."""

from overton.api.comparing.making import compare
from overton.api.comparing.results import Comparison

__all__ = ["Comparison", "compare"]
