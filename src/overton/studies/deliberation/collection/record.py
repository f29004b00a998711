"""The fate of each collected value, with the reason."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from overton.studies.tables import means

Fate = Literal["in the list", "merged", "left out", "undecided", "failed"]


class Companion(msgspec.Struct, frozen=True):
    """A value that often occurs together with an earlier value of the collection.

    `both` is the number of texts in which both values are consistently found. `either` is the number of texts in which
    at least one of the two values is consistently found.
    """

    value: str
    both: int
    either: int


class ValueFate(msgspec.Struct, frozen=True):
    """One collected value."""

    row_key: ClassVar[tuple[str, ...]] = ("trial", "value")

    trial: Annotated[str, means("the trial's name")]
    value: Annotated[str, means("the value as collected")]
    definition: Annotated[str, means("the value's definition, '' if the collection has none")]
    status: Annotated[Fate, means("in the list, merged into another, left out, undecided, or failed (a call failed)")]
    why: Annotated[str, means("the reason in a sentence")]
    merged_into: Annotated[str, means("the value in the list into which this value was merged, '' if none")] = ""
    annotators: Annotated[tuple[str, ...], means("who sorted the values: models, then people")] = ()
    categories: Annotated[
        tuple[str | None, ...], means("each annotator's category, None if the answer was unusable")
    ] = ()
    votes: Annotated[int, means("number of annotators who put the value into the category that is kept")] = 0
    kept: Annotated[bool, means("whether enough annotators put the value into that category")] = False
    texts: Annotated[int, means("number of explanations on which the value was tested")] = 0
    times: Annotated[
        tuple[int, ...], means("number of these explanations in which the judge found the value, for each repetition")
    ] = ()
    consistent: Annotated[
        int, means("number of explanations in which the judge found the value in more than half of the repetitions")
    ] = 0
    companions: Annotated[
        tuple[Companion, ...], means("values further down the list that often occur in the same explanations")
    ] = ()
    deciders: Annotated[tuple[str, ...], means("who decided on the values")] = ()
    codes: Annotated[
        tuple[str | None, ...],
        means("the decision of each annotator or person, 1 to 6, None if the answer was unusable"),
    ] = ()
    code: Annotated[str, means("the decision that results from all of these, '' if undecided")] = ""
    failure: Annotated[str | None, means("why a call of a step failed permanently, None if every call succeeded")] = (
        None
    )
