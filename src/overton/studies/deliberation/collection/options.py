"""The choices that shape how a list of values is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from overton.errors import Problem
from overton.studies.deliberation.collection.sheets import Category
from overton.studies.options import Option, StudyOptions, option_place

_MOST_REPEATS = 50


class CollectionOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """How values are sorted, tried, decided on and merged; the defaults are the paper's where it says."""

    annotators: Annotated[
        tuple[str, ...], Option("How the annotators' models are named, in the order given", repeats=True, follows=True)
    ] = ()
    people: Annotated[
        tuple[str, ...], Option("The people who sorted the values, by their sheets", follows=True, file=True)
    ] = ()
    judged: Annotated[
        bool, Option("Whether a judge reads explanations on trial, not the first annotator", follows=True)
    ] = False
    sorting: Annotated[
        Literal["all", "people"], Option("Who sorts the values: all annotators and people, or only the people")
    ] = "all"
    category: Annotated[Category, Option("The category whose values are kept")] = "moral"
    agree: Annotated[
        float, Option("Share of those who sort that must put a value into that category", above=0, most=1)
    ] = 0.8
    repeats: Annotated[int, Option("Times that each explanation is read on trial", least=1, most=_MOST_REPEATS)] = 5
    together: Annotated[
        float,
        Option(
            "Share of the explanations with either of two values that must have both, so that merging them is"
            " considered",
            above=0,
            most=1,
        ),
    ] = 0.25
    deciding: Annotated[
        Literal["annotators", "people"],
        Option("Who decides on values and merges: the annotators, or people on sheets, after the run"),
    ] = "annotators"

    def problems(self) -> Iterator[Problem]:
        """Nobody to sort the values."""
        if self.sorting == "people" and not self.people:
            yield Problem(option_place("sorting"), self.sorting, "needs at least one person's sheet (people)")

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The annotators and the people by name, and whether there is a judge."""
        people = given.get("people", ())
        people = people if isinstance(people, list | tuple) else [people]
        names = [each if isinstance(each, str) else each.stem for each in people]
        return given | {
            "annotators": list(named["annotator"]),
            "people": names,
            "judged": bool(named.get("judge")),
        }
