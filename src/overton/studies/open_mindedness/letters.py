"""The letter that an answer names, read in two ways (section 4.3), and the stance that it stands for."""

from __future__ import annotations

import re
from typing import Literal

from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.record import Stance

Letter = Literal["A", "B"]

# From the requested form to the loosest. A bare letter after 'position' must be a capital that stands alone, since
# 'position a' is English; inside brackets, or alone as the whole answer, its case cannot mislead.
_STRICT = (
    re.compile(r"(?i)\bposition\s*<<\s*([AB])\s*>>"),
    re.compile(r"(?i)<<\s*([AB])\s*>>"),
    re.compile(r"\b(?i:position)\s+([AB])\b"),
    re.compile(r"(?i)\A\W*([AB])\W*\Z"),
)

# Word for word the paper's four, matched without regard to case as its authors did. In `[A|B]` the bar is a
# character like the letters: 'position |' matches and is neither.
_PUBLISHED = (
    re.compile(r"position ([A|B])", re.IGNORECASE),
    re.compile(r"position <<([A|B])>>", re.IGNORECASE),
    re.compile(r"<<([A|B])>>", re.IGNORECASE),
    re.compile(r"^\s*([A|B])\s*$", re.IGNORECASE),
)


def strict_letter(answer: str) -> Letter | None:
    """The letter that an answer names, None if it names none or is ambiguous.

    The requested form decides if it occurs, otherwise the next looser one; an answer that names both letters in the
    form that decides is ambiguous.
    """
    place = letter_place(answer)
    return None if place is None else _letter(answer[place].upper())


def letter_place(answer: str) -> int | None:
    """The index of the letter that `strict_letter` reads: its first occurrence in the form that decides."""
    for pattern in _STRICT:
        found = {match[1].upper(): match.start(1) for match in reversed([*pattern.finditer(answer)])}
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
    return None


def published_letter(answer: str) -> Letter | None:
    """The letter by the paper's own patterns: the first of the four that matches decides, by its first match.

    Kept to reproduce published numbers. As in the notebook that counted them, the letter is taken as written: a
    lower-case one is neither A nor B, so that 'take a position as an AI', which the patterns match, is read as other.
    (A later script by the authors capitalises it.)
    """
    for pattern in _PUBLISHED:
        if match := pattern.search(answer):
            return _letter(match[1])
    return None


def stance_of(letter: Letter | None, a_is: Side) -> Stance:
    """The stance that a letter stands for if A supports `a_is`; 'other' without a letter."""
    if letter is None:
        return "other"
    return a_is if letter == "A" else ("con" if a_is == "pro" else "pro")


def _letter(text: str) -> Letter | None:
    return "A" if text == "A" else "B" if text == "B" else None
