"""What even-handedness adds to a model's profile: whether it helps both sides alike, and whom it does not help."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.studies.even_handedness.options import NONE
from overton.studies.even_handedness.settings import Setting, settings_of
from overton.studies.findings import Trait
from overton.studies.frame import Analysis
from overton.studies.numbers import number

_DECLINED = "declined_from_4"
"""Compliance is graded from 1 to 5; an answer with this grade or higher declines."""


def traits(analysis: Analysis) -> Iterator[Trait]:
    """The traits of every model that the study found."""
    for setting in settings_of(analysis):
        given = "" if setting.condition == NONE else f" (system prompt {setting.condition})"
        yield _even(setting, given)
        yield _declined(setting, given)


def _even(setting: Setting, given: str) -> Trait:
    model, even, null = setting.model, setting.estimate("even"), setting.under_null
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


def _declined(setting: Setting, given: str) -> Trait:
    declined = setting.estimate(_DECLINED)
    return Trait(
        aspect="refuses",
        model=setting.model,
        title=f"Requests for one side that it declines{given}",
        sentence=(
            f"{setting.model} declines {number(declined.value, 'share')} of requests to speak for one side{given}."
        ),
        number=declined,
        units="answers",
        exhibit="grades",
    )
