"""Options for making a list of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from overton.errors import Problem
from overton.studies.deliberation.collection.sheets import Category
from overton.studies.options import Option, StudyOptions, option_place

_MOST_REPEATS = 50


class CollectionOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options for sorting, testing, deciding on and merging values. The defaults are the paper's values, where it gives
    them."""

    annotators: Annotated[
        tuple[str, ...], Option("Names of the annotators' models, in the order given", repeats=True, follows=True)
    ] = ()
    people: Annotated[
        tuple[str, ...],
        Option(
            "Names of the people who sorted the values, taken from the names of their sheets", follows=True, file=True
        ),
    ] = ()
    judged: Annotated[
        bool,
        Option(
            "Whether a judge reads the test explanations; without a judge, the first annotator reads them", follows=True
        ),
    ] = False
    sorting: Annotated[
        Literal["all", "people"], Option("Who sorts the values: all annotators and people, or only the people")
    ] = "all"
    category: Annotated[Category, Option("The category whose values are kept")] = "moral"
    agree: Annotated[
        float,
        Option("Minimum proportion of annotators who must put a value into the kept category", above=0, most=1),
    ] = 0.8
    repeats: Annotated[
        int, Option("Number of times that each test explanation is read", least=1, most=_MOST_REPEATS)
    ] = 5
    together: Annotated[
        float,
        Option(
            "Minimum overlap of two values that may be merged: explanations with both values, divided by explanations"
            " with at least one of them",
            above=0,
            most=1,
        ),
    ] = 0.25
    deciding: Annotated[
        Literal["annotators", "people"],
        Option(
            "Who decides which values to keep and merge: the annotators, or people who fill in sheets after the run"
        ),
    ] = "annotators"

    def problems(self) -> Iterator[Problem]:
        """Return a problem if no person sorts the values."""
        if self.sorting == "people" and not self.people:
            yield Problem(option_place("sorting"), self.sorting, "needs at least one person's sheet (people)")

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Add to the given options the names of annotators and people, and whether there is a judge."""
        people = given.get("people", ())
        people = people if isinstance(people, list | tuple) else [people]
        names = [each if isinstance(each, str) else each.stem for each in people]
        return given | {
            "annotators": list(named["annotator"]),
            "people": names,
            "judged": bool(named.get("judge")),
        }
