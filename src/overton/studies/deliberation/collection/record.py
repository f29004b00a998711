"""The fate of each collected value, with the reason."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from overton.studies.tables import means

Fate = Literal["in the list", "merged", "left out", "undecided", "failed"]


class Companion(msgspec.Struct, frozen=True):
    """A later value of the collection that often occurs with a value: in how many texts both are consistently found,
    and in how many at least one."""

    value: str
    both: int
    either: int


class ValueFate(msgspec.Struct, frozen=True):
    """One collected value."""

    row_key: ClassVar[tuple[str, ...]] = ("trial", "value")

    trial: Annotated[str, means("the trial's name")]
    value: Annotated[str, means("the value as collected")]
    definition: Annotated[str, means("what it means, '' if the collection does not say")]
    status: Annotated[Fate, means("in the list, merged into another, left out, undecided, or failed (a call was)")]
    why: Annotated[str, means("the reason in a sentence")]
    merged_into: Annotated[str, means("the value of the list that it became part of, '' if none")] = ""
    annotators: Annotated[tuple[str, ...], means("who sorted the values: models, then people")] = ()
    categories: Annotated[tuple[str | None, ...], means("the category that each gave, None without a usable one")] = ()
    votes: Annotated[int, means("annotators who put it into the category that is kept")] = 0
    kept: Annotated[bool, means("whether enough of them did")] = False
    texts: Annotated[int, means("explanations read on trial")] = 0
    times: Annotated[tuple[int, ...], means("in how many of them the judge found it, in each repetition")] = ()
    consistent: Annotated[int, means("in how many it did so in more than half of the repetitions")] = 0
    companions: Annotated[tuple[Companion, ...], means("later values that it often occurs with")] = ()
    deciders: Annotated[tuple[str, ...], means("who decided on the values")] = ()
    codes: Annotated[tuple[str | None, ...], means("the decision of each, 1 to 6, None without a usable one")] = ()
    code: Annotated[str, means("what follows from them, '' if undecided")] = ""
    failure: Annotated[str | None, means("why a call of a step failed permanently, None if none did")] = None
