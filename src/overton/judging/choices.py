"""One label out of a few, from a free text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from overton.judging.reading import Reading

__all__ = ["read_choice"]


def read_choice(text: str, choices: Sequence[str]) -> Reading[str]:
    """The one of `choices` that `text` names.

    As is where it stands alone, spelled exactly. Repaired where just one of them occurs in the text as whole words,
    in any case; a choice that contains another ('not fair', 'fair') is seen first. A text that names none of them, or
    two, is invalid.
    """
    alone = text.strip()
    if alone in choices:
        return Reading(alone, "as is")
    named = _named(text, choices)
    if len(named) == 1:
        return Reading(named[0], "repaired")
    if named:
        return Reading.invalid(f"it names {len(named)} of the choices: {', '.join(named)}")
    return Reading.invalid(f"it names none of the choices: {', '.join(choices)}")


def _named(text: str, choices: Sequence[str]) -> list[str]:
    """The choices that occur, in the order in which they are given."""
    by_length = sorted(choices, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, by_length))})(?!\w)", re.IGNORECASE)
    found = {match.casefold() for match in pattern.findall(text)} if choices else set()
    return [choice for choice in choices if choice.casefold() in found]
