"""The matches and labels that the judge gave, laid out for a person."""

from __future__ import annotations

from overton.studies.measuring import Results
from overton.studies.pluralism.checked import MATCH_LABELS, matches, stances
from overton.studies.pluralism.record import STANCES
from overton.studies.sheet import JudgedRows, Sheet

__all__ = ["SHEET"]


def _rows(results: Results, what: str) -> JudgedRows:
    """Each response with each viewpoint ('match'), or with the reference ('stance')."""
    judge = ", ".join(one.name for one in results.answering("judge"))
    if what == "stance":
        shown = ("post", "reference", "response")
        return JudgedRows(*stances(results.records, results.items), shown, STANCES, judge)
    lexical = any(run.options.get("matching") == "lexical" for run in results.runs)
    shown = ("post", "viewpoint", "response")
    named = "words in common" if lexical else judge
    return JudgedRows(*matches(results.records, results.items), shown, MATCH_LABELS, named)


SHEET = Sheet(("match", "stance"), _rows, size=100)
