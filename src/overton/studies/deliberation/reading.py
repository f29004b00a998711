"""Reading dilemmas: JSON lines, one `Dilemma` a line; and the twelve that come with the study.

The starter dilemmas were written for Overton. No crowd ever voted: their counts say that they are simulated.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from textwrap import shorten

from overton.studies.deliberation.items import Dilemma
from overton.studies.items import Items
from overton.studies.noting import Notes
from overton.studies.parsing import json_lines

__all__ = ["DILEMMAS"]


def _check(dilemma: Dilemma, notes: Notes) -> None:
    if not dilemma.text.strip():
        notes.error("text", "is empty")


def _starter() -> Traversable:
    """A dilemma a line."""
    return files("overton.studies.deliberation") / "starter" / "dilemmas.jsonl"


def _spelled(dilemma: Dilemma) -> list[str]:
    """The title; the first words of the post where it has none."""
    return [dilemma.title or shorten(dilemma.text, 80, placeholder=" …")]


DILEMMAS = Items(
    Dilemma,
    "dilemma",
    "JSONL file of dilemmas",
    parse=json_lines(Dilemma, _check),
    dataset="dilemmas.jsonl",
    starter=_starter,
    spelled=_spelled,
)
"""Dilemmas, with their crowds' verdicts where they are known."""
