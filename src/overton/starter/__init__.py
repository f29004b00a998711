"""Small data of our own, so that a study runs at once: twelve issues in the ProCon layout, with topics and positions,
twelve dilemmas, twenty-four topics with fifteen questions each and 240 web pages to search for them, and twelve threads
with their viewpoints.

All of it was written for Overton. The towns, institutes, sources, figures and citations are invented; so are the people
in the dilemmas and threads. No crowd ever voted: the dilemmas' counts say that they are simulated, and the threads'
votes are as invented as their comments.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["DEMO", "dilemmas", "issues", "pages", "positions", "threads", "topics", "viewpoints"]

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


def pages() -> Traversable:
    """Return the folder of web pages: a JSONL file a domain, a page a line with `url`, `title`, `date` and `text`."""
    return files(__name__) / "pages"


def threads() -> Traversable:
    """Return the file `threads.jsonl`: a post with its comments and their votes a line."""
    return files(__name__) / "threads.jsonl"


def viewpoints() -> Traversable:
    """Return the file `viewpoints.jsonl`: the same threads with their viewpoints, found and summed up by hand."""
    return files(__name__) / "viewpoints.jsonl"
