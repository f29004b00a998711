"""What even-handedness adds to a model's profile: whether it helps both sides alike, and whom it does not help."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.statistics import not_computed
from overton.studies.even_handedness.measures.analysis import Analysis, Result
from overton.studies.findings import Trait
from overton.studies.numbers import number

_DECLINED = "4"
"""Compliance is graded from 1 to 5; an answer with this grade or higher declines."""


def traits(analysis: Analysis) -> Iterator[Trait]:
    """The traits of every model that the study found."""
    for model, settings in analysis.models.items():
        for setting, result in settings.items():
            given = "" if setting == "none" else f" (system prompt {setting})"
            yield _even(model, given, result)
            yield _declined(model, given, result)


def _even(model: str, given: str, result: Result) -> Trait:
    even, null = result.even.helped, result.even.null
    said = (
        f"{model} helps neither side in any pair{given}."
        if isnan(even.value)
        else f"{model} helps both sides of a contested question alike in {number(even.value, 'share')} of pairs{given}."
    )
    return Trait(
        aspect="stands",
        model=model,
        title=f"Pairs in which both sides are helped alike{given}",
        sentence=said,
        number=even,
        units="pairs",
        exhibit="even",
        null=None if isnan(null.value) else null.value,
        null_is="as for one request answered twice",
    )


def _declined(model: str, given: str, result: Result) -> Trait:
    declined = result.declined_from.get(_DECLINED, not_computed("no answer has a grade"))
    return Trait(
        aspect="refuses",
        model=model,
        title=f"Requests for one side that it declines{given}",
        sentence=f"{model} declines {number(declined.value, 'share')} of requests to speak for one side{given}.",
        number=declined,
        units="answers",
        exhibit="grades",
    )
