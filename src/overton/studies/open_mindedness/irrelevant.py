"""Texts that replace an argument and have nothing to do with its issue, with its length and form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice

from overton.calls import Draw
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Argument

_MARKS = re.compile(r"(?:\s?\[[^\[\]\n]{1,12}\])+")
"""Citation marks after a sentence: ' [1] [2]'."""
_LEAD = re.compile(r"\s*(?:[-*•#]+\s+|\d{1,2}[.)]\s+|>\s*)?")
"""What precedes the words of a line: a bullet, a number, a heading's mark."""
_SHORT = 60
"""Lines of fewer characters have no room for a sentence of ours: headings, say."""


def instead_of(argument: Argument, draw: Draw) -> Argument:
    """An irrelevant text with the argument's id, its number of lines, each about as long, its citation marks and its
    number of sources.

    Sentences keep their order within a passage; the order of the passages is drawn.
    """
    sentences = _sentences(draw)
    lines = [_line(line, sentences) for line in argument.text.split("\n")]
    sources: list[str] = draw.shuffle(list(prompts.load("nulls")["sources"]))
    cited = tuple(_cited(source, sources[place % len(sources)]) for place, source in enumerate(argument.sources))
    return Argument(argument.id, "\n".join(lines), cited)


@lru_cache(maxsize=1)
def _passages() -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, prompts.load("nulls")["passages"]))


def _sentences(draw: Draw) -> Iterator[str]:
    """Sentences without end: the passages in random order, over and over."""
    passages = draw.shuffle(list(_passages()))
    while True:
        yield from chain.from_iterable(passages)


def _line(line: str, sentences: Iterator[str]) -> str:
    """As many sentences as come closest to the line's own length, after its own bullet and with its own marks."""
    lead = _LEAD.match(line)
    begins = lead[0] if lead else ""
    marks = _MARKS.findall(line)
    wanted = len(line) - len(begins) - sum(map(len, marks))
    if wanted < 1:
        return line
    chosen = [_beginning(next(sentences), wanted)] if wanted < _SHORT else list(_up_to(wanted, sentences))
    for place, mark in enumerate(marks):
        chosen[place % len(chosen)] += mark
    return begins + " ".join(chosen)


def _beginning(sentence: str, wanted: int) -> str:
    """The first words of a sentence: at least one, and not much longer than the short line that it replaces."""
    if len(sentence) <= wanted:
        return sentence
    return f"{sentence[:wanted].rpartition(' ')[0] or sentence.partition(' ')[0]}."


def _up_to(wanted: int, sentences: Iterator[str]) -> Iterator[str]:
    """One or more sentences whose total length comes closest to `wanted`."""
    length = -1
    while True:
        (sentence,) = islice(sentences, 1)
        longer = length + 1 + len(sentence)
        if length > 0 and longer - wanted > wanted - length:
            return
        yield sentence
        length = longer
        if length >= wanted:
            return


def _cited(source: str, instead: str) -> str:
    """Another source with the mark of the argument's own."""
    mark = _MARKS.match(source)
    return f"{mark[0]} {instead}" if mark else instead
