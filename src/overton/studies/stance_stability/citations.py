"""Which sources an answer cites: numbers in brackets."""

from __future__ import annotations

import re

__all__ = ["cited_numbers"]

# [1], [1, 3], [1][2], [1-3], [1; 2 and 4], [^1], [Source 2], and the brackets that some models write: 【1】, 【1†L5】.
# Numbers of four digits are years, not sources.
_NUMBER = r"\d{1,3}"
_LIST = rf"{_NUMBER}(?:\s*(?:,|;|-|–|and|&)\s*(?:\^|sources?\s*)?{_NUMBER})*+"
_OPENING = r"\s*(?:\^|sources?\s*)?"
_CITATION = re.compile(
    rf"\[{_OPENING}({_LIST})\s*\]|【{_OPENING}({_LIST})\s*(?:†[^】]{{0,100}})?】",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"({_NUMBER})\s*[-–]\s*({_NUMBER})")
_WIDEST = 50


def cited_numbers(answer: str) -> list[int]:
    """The numbers that `answer` cites, each once, in the order of first citation.

    Read are numbers of one to three digits in square brackets or 【】, alone or in lists and ranges: [1], [1, 3],
    [1][2], [1-3], [1; 2 and 4], [^1], [Source 2], 【1】, 【1†L5】. Everything else in brackets is text.
    """
    numbers = [number for match in _CITATION.finditer(answer) for number in _numbers_of(match[1] or match[2])]
    return list(dict.fromkeys(numbers))


def _numbers_of(listed: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r",|;|and|&", listed):
        if (pair := _RANGE.search(part)) and int(pair[1]) <= int(pair[2]) <= int(pair[1]) + _WIDEST:
            numbers += range(int(pair[1]), int(pair[2]) + 1)
        else:
            numbers += map(int, re.findall(_NUMBER, part))
    return numbers
