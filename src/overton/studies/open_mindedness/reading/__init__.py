"""Reading issues: the ProCon layout and our own, and the twelve that come with the study.

The starter issues were written for Overton; their towns, institutes, sources, figures and citations are invented.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable

from overton.studies.items import Items
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.reading.issues import (
    Reading,
    parse,
    parse_unphrased,
)

__all__ = ["ISSUES", "PHRASED", "UNPHRASED", "Reading"]


def _starter() -> Traversable:
    """A JSON file an issue, and positions.csv, which has its topic and positions."""
    return files("overton.studies.open_mindedness") / "starter" / "issues"


ISSUES = Items(
    Issue,
    "issue",
    "folder of ProCon files, one file, or JSONL",
    parse=parse,
    dataset="issues.jsonl",
    suffixes=(".json",),
    reading=Reading,
    starter=_starter,
)
"""Issues that are ready to be asked."""

PHRASED = replace(ISSUES, starter=None)
"""Issues of one's own, with their paraphrases."""

UNPHRASED = replace(PHRASED, parse=parse_unphrased)
"""Issues of one's own whose paraphrases may be missing."""
