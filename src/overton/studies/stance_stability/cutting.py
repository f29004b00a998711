"""Long texts cut to a budget: at sentence ends, with a mark, and fairly where several share one."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["MARK", "allotted", "shortened"]

MARK = "[shortened]"
"""Stands at the end of a text that was cut."""

# Where a sentence ends: its last mark with what closes after it, or the end of a paragraph.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？]|(?=\n)")
_SPACE = re.compile(r"\s")


def shortened(text: str, characters: int) -> str:
    """`text` where it has no more than so many characters; else its beginning, cut at a sentence's end, and `MARK`.

    The cut is at the last end of a sentence, or else of a word, in the second half of the room, or else anywhere. The
    result has at most `characters` characters, but for `MARK` alone where there is no room even for that.
    """
    if len(text) <= characters:
        return text
    room = characters - len(MARK) - 1
    if room <= 0:
        return MARK
    beginning = text[: room + 1]  # with the next character, which tells whether a sentence ends here
    sentences = [match.end() for match in _SENTENCE_END.finditer(beginning)]
    words = [match.start() for match in _SPACE.finditer(beginning)]
    end = next((max(late) for ends in (sentences, words) if (late := _late(ends, room))), room)
    return f"{beginning[:end].rstrip()} {MARK}"


def _late(ends: Sequence[int], room: int) -> list[int]:
    """Those in the second half of the room."""
    return [end for end in ends if room / 2 <= end <= room]


def allotted(lengths: Sequence[int], budget: int) -> list[int]:
    """How many of each text's characters fit where all share `budget`: short ones whole, the others alike.

    Sums up to `budget` at most, and to the sum of `lengths` where that fits.
    """
    shares, left = [0] * len(lengths), budget
    by_length = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for place, index in enumerate(by_length):
        shares[index] = min(lengths[index], left // (len(lengths) - place))
        left -= shares[index]
    return shares
