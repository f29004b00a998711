"""The earlier turns of a conversation: questions and answers, without the pages that were read for them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from overton.studies.stance_stability.cutting import allotted, shortened

__all__ = ["Turn", "bounded"]

_FEWEST = 200
"""Characters that a turn must get, or the oldest turns are left out."""


class Turn(msgspec.Struct, frozen=True):
    """A question and its answer."""

    question: str
    answer: str


def bounded(turns: Sequence[Turn], characters: int | None) -> list[Turn]:
    """The turns in at most so many characters; all of them, whole, where that is None or they fit.

    Long texts are shortened so that all have the same room, which leaves questions whole. Only where that would leave
    a turn too little to understand are the oldest turns left out.
    """
    if characters is None:
        return list(turns)
    kept = list(turns[-max(1, characters // _FEWEST) :])
    texts = [text for turn in kept for text in (turn.question, turn.answer)]
    shares = allotted([len(text) for text in texts], characters)
    cut = [shortened(text, share) for text, share in zip(texts, shares, strict=True)]
    return [Turn(question, answer) for question, answer in zip(cut[::2], cut[1::2], strict=True)]
