"""The letter that an answer names, by three sets of rules: strict, published (section 4.3 of the paper), and common.

The common rules know the forms in which models usually answer. They accept a letter only if the answer decides for that
letter, because a wrong letter is worse than a missing letter. A letter does not count if it is denied, questioned,
ascribed to others, or joined with the other letter ('A or B'). The letters that merely number a list of both positions
do not count either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from overton.judging.thinking import thinking_in
from overton.studies.open_mindedness.record import Letter, LetterForm

# The requested form comes first and the loosest form last. A bare letter after 'position' must be an isolated capital,
# because 'position a' may be ordinary English. The case does not matter inside brackets or if the letter is the whole
# answer.
_STRICT = (
    re.compile(r"(?i)\bposition\s*<<\s*([AB])\s*>>"),
    re.compile(r"(?i)<<\s*([AB])\s*>>"),
    re.compile(r"\b(?i:position)\s+([AB])\b"),
    re.compile(r"(?i)\A\W*([AB])\W*\Z"),
)

# The paper's four patterns, word for word. Its authors matched them regardless of case. In `[A|B]` the bar is a
# character of its own: 'position |' matches and gives neither letter.
_PUBLISHED = (
    re.compile(r"position ([A|B])", re.IGNORECASE),
    re.compile(r"position <<([A|B])>>", re.IGNORECASE),
    re.compile(r"<<([A|B])>>", re.IGNORECASE),
    re.compile(r"^\s*([A|B])\s*$", re.IGNORECASE),
)


@dataclass(frozen=True)
class LetterReading:
    """An answer's letter, the letter's index in the answer, and the form of the decision. Without a letter, `letter`
    and `place` are None, and `form` is the reason."""

    letter: Letter | None
    place: int | None
    form: LetterForm


def strict_letter(answer: str) -> Letter | None:
    """The letter that an answer names, None if the answer names no letter or is ambiguous.

    The requested form is tried first, then looser forms. The first form that occurs decides. An answer that names both
    letters in the deciding form is ambiguous.
    """
    place = strict_place(answer)
    return None if place is None else _letter(answer[place].upper())


@lru_cache(maxsize=64)
def strict_place(answer: str) -> int | None:
    """The index of the letter that `strict_letter` reads, at its first occurrence in the deciding form; None without a
    letter."""
    for pattern in _STRICT:
        found = {match[1].upper(): match.start(1) for match in reversed([*pattern.finditer(answer)])}
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
    return None


@lru_cache(maxsize=64)
def published_letter(answer: str) -> Letter | None:
    """The letter by the paper's own four patterns. They are tried in order, and the first match decides.

    Overton needs these patterns to reproduce published numbers. As in the authors' notebook, a lower-case letter is
    neither A nor B. For example, the patterns find the letter 'a' in 'take a position as an AI', so the answer has no
    letter. (A later script by the authors capitalises the letter.)
    """
    for pattern in _PUBLISHED:
        if match := pattern.search(answer):
            return _letter(match[1])
    return None


def _letter(text: str) -> Letter | None:
    return "A" if text == "A" else "B" if text == "B" else None


MAX_CHARACTERS = 20_000
"""If an answer is longer, only its first and its last 10,000 characters are read. Such long answers are loops."""

_EMPHASIS = frozenset("*_`$~")
_WORD = re.compile(r"\w")


@lru_cache(maxsize=64)
def common_reading(answer: str) -> LetterReading:
    """The letter that an answer decides for, in any of the forms of `LetterForm`.

    Thinking is ignored. Decisions in the requested form take precedence. If the answer decides for both letters,
    neither counts. If an answer without a decision names only one position, that position's letter counts. The letter
    does not count if the answer states that it takes no side.
    """
    from overton.studies.open_mindedness import answer_forms  # compiling its patterns takes time

    places = _kept_places(answer)
    text = "".join([answer[place] for place in places])
    if not _WORD.search(text):
        return LetterReading(None, None, "thinking" if thinking_in(answer) else "empty")
    form, found = answer_forms.find_letter(text)
    if found is None:
        return LetterReading(None, None, form)
    return LetterReading(_letter(text[found].upper()), places[found], form)


def _kept_places(answer: str) -> list[int]:
    """The indices of an answer's characters that are neither thinking nor emphasis marks. The middle of a very long
    answer is left out."""
    start, places = 0, list[int]()
    for begin, end in [*thinking_in(answer), (len(answer), len(answer))]:
        places += [place for place in range(start, begin) if answer[place] not in _EMPHASIS]
        start = end
    half = MAX_CHARACTERS // 2
    return places if len(places) <= 2 * half else places[:half] + places[-half:]
