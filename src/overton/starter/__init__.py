"""Small data of our own, so that a study runs at once: twelve issues in the ProCon layout, with topics and positions,
twelve dilemmas, and twenty-four topics with fifteen questions each.

All of it was written for Overton. The towns, institutes, figures and citations in the arguments are invented; so are
the people in the dilemmas, and no crowd ever voted on these: its counts are simulated and say so.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["DEMO", "dilemmas", "issues", "positions", "topics"]

DEMO = ("congestion-charge", "crewed-spaceflight", "museum-returns", "primary-school-grades")
"""Ids of the four issues of the demo. Their arguments are short, so that a small embedded model reads them quickly."""


def issues() -> Traversable:
    """Return the folder of issue files: one JSON file an issue, named `<id>.json`."""
    return files(__name__) / "issues"


def positions() -> Traversable:
    """Return the table `positions.csv`, one row an issue: `issue` (its id), `topic`, `pro` and `con` (positions)."""
    return files(__name__) / "positions.csv"


def dilemmas() -> Traversable:
    """Return the file `dilemmas.jsonl`: a dilemma a line, with `id`, `title`, `text` and `crowd` (simulated counts)."""
    return files(__name__) / "dilemmas.jsonl"


def topics() -> Traversable:
    """Return the folder of topics: a JSONL file a domain of the Chameleon paper, two topics with 15 questions each."""
    return files(__name__) / "topics"
