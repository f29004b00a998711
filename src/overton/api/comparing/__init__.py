"""Models compared over the items that they share: differences with intervals, verdicts, ranks; baselines and gates."""

from overton.api.comparing.gating import Gate, gate
from overton.api.comparing.keeping import baseline
from overton.api.comparing.making import compare
from overton.api.comparing.results import Comparison

__all__ = ["Comparison", "Gate", "baseline", "compare", "gate"]
